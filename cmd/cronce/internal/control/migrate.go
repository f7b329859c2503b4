package control

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock/sqllock"
)

// MigrateCommand returns the command migrate.
func MigrateCommand() *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create the tables of a database that is the store, or update them",
		Long: "Create the tables of a PostgreSQL, MySQL, MariaDB or SQLite database that is the store, or update the tables of an\n" +
			"older version. The command may be repeated, and run several times at once. It needs rights that nodes do not\n" +
			"need: nodes only read, insert, update and delete. A node refuses tables of another version.\n" +
			"With --print it connects to nothing, and prints a script for psql, mysql, mariadb or sqlite3. On PostgreSQL, MySQL and\n" +
			"MariaDB the script does as migrate does, and changes nothing in a database that has the tables. With SQLite it is for a\n" +
			"new database, and sqlite3 ends with an error, and no change, if the file has tables of cronce.",
		Example: "  cronce migrate --store postgres://cronce@db/shop\n  cronce migrate --store mysql://cronce@db/shop --print | mariadb --host=db shop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if show {
				c, err := command.LoadConfig(cmd)
				if err != nil {
					return err
				}
				return printMigrations(cmd.OutOrStdout(), c)
			}
			return migrate(cmd)
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().BoolVar(&show, "print", false, "print the statements as a script, and connect to nothing")
	return cmd
}

func migrate(cmd *cobra.Command) error {
	c, err := command.LoadConfig(cmd)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(cmd.Context(), clients.Timeout)
	defer stop()
	s, err := clients.OpenToMigrate(c)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Migrate(ctx); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The tables in %s are up to date.\n", c.StoreName())
	return nil
}

func printMigrations(w io.Writer, c *config.Config) error {
	dialect, ok := map[config.StoreKind]sqllock.Dialect{config.StorePostgres: sqllock.PostgreSQL, config.StoreMySQL: sqllock.MySQL, config.StoreSQLite: sqllock.SQLite}[c.Address().Kind]
	if !ok {
		return exit.Usagef("%s has no tables: only a database needs migrate", c.StoreName())
	}
	text, err := sqllock.Script(dialect)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}
