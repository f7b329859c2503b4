package reward_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/cronce/cronce/jobs/reward"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/memlock"
)

func ExampleDesk_Claim() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:") // in place of a database
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	book, err := reward.Open(ctx, db, reward.SQLite)
	if err != nil {
		fmt.Println(err)
		return
	}
	var store memlock.Store                                                   // in place of a Redis
	desk, err := reward.NewDesk(book, lock.New(&store, ""), reward.Options{}) // in a program by lock.Open
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, member := range []string{"member-1", "member-2", "member-1"} {
		r, err := desk.Claim(ctx, reward.Claim{Family: "family-4711", Reward: "welcome", Member: member})
		if taken, ok := errors.AsType[*reward.TakenError](err); ok {
			fmt.Println(member, "is refused:", taken.Member, "has it")
			continue
		}
		fmt.Println(member, "has it:", r.Claim, err)
	}
	// Output:
	// member-1 has it: reward "welcome" for family "fa****" by member "me****" <nil>
	// member-2 is refused: member-1 has it
	// member-1 has it: reward "welcome" for family "fa****" by member "me****" <nil>
}
