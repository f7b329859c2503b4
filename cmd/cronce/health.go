package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/internal/terminal"
)

// healthTimeout bounds the wait for a node's reply.
const healthTimeout = 3 * time.Second

// healthCommand returns the command health, for images without another HTTP client.
func healthCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check whether the node of this machine is ready",
		Long: "Read /readyz of a node on this machine, for the health check of a container. The address\n" +
			"comes from the node's configuration.\n\n" +
			"Exit code 1: not ready, or no node answers. Container runtimes accept no other code.",
		Example: "  cronce node health --config config.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := command.ReadConfig(cmd, config.HealthOverrides)
			if err != nil {
				return command.ConfigError(err)
			}
			if c.HTTP.Off() {
				return exit.Usagef("node health: http.address is %s, so nothing is served", strictyaml.Quote(c.HTTP.Address))
			}
			if err := checkHealth(cmd.Context(), cmd.OutOrStdout(), localAddress(c.HTTP.Address)); err != nil {
				return exit.With(exit.Failed, err) // container runtimes accept no other code
			}
			return nil
		},
	}
	command.ConfigFlags(cmd, config.HealthOverrides)
	return cmd
}

// localAddress returns an address at which a listener can be reached from the same machine. An
// address of all interfaces cannot be dialed on every system.
func localAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "" && !ip.IsUnspecified() {
		return address
	}
	if strings.Contains(host, ":") {
		return net.JoinHostPort("::1", port)
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// checkHealth reads /readyz, never through a proxy.
func checkHealth(ctx context.Context, w io.Writer, address string) error {
	ctx, stop := context.WithTimeout(ctx, healthTimeout)
	defer stop()
	target := url.URL{Scheme: "http", Host: address, Path: "/readyz"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("node health: %w", err)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return fmt.Errorf("node health: %s: %w", address, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	if err != nil {
		return fmt.Errorf("node health: %s: %w", address, err)
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New("node health: not ready: " + strings.TrimSpace(string(text)))
	}
	_, err = fmt.Fprintln(w, terminal.Printable(strings.TrimSpace(string(text))))
	return err
}
