//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/rewardcommands"
	"github.com/cronce/cronce/internal/redisserver"
)

// rewardConfig is the file of a shop with its database.
func rewardConfig(t *testing.T, more string) string {
	t.Helper()
	return file(t, "shop.yaml", "shop: {address: '127.0.0.1:0', database: {file: "+filepath.Join(t.TempDir(), "rewards.db")+"}"+more+"}\n")
}

// A reward is offered, claimed, delivered and listed by command; what its state does not
// allow is refused, and nothing personal is shown.
func TestRewardLife(t *testing.T) {
	_, url := newRedis(t)
	at := []string{"--redis", url, "--config", rewardConfig(t, ", rewards: {offered_only: true, token_env: T}")}
	do := func(args ...string) result { return cronce(t, append(append([]string{"reward"}, args...), at...)...) }
	do("list", "family-4711").want(t, exit.Fine)
	do("claim", "family-4711", "tea", "member-1").want(t, exit.Refused, "was not offered")
	do("offer", "family-4711", "tea").want(t, exit.Fine, "tea", "offered")
	do("deliver", "family-4711", "tea").want(t, exit.Refused, "was not claimed")
	do("claim", "family-4711", "tea", "member-1").want(t, exit.Fine, "claimed", "me****")
	do("claim", "family-4711", "tea", "member-2").want(t, exit.Refused, "has reward")
	do("deliver", "family-4711", "tea").want(t, exit.Fine, "delivered")
	do("withdraw", "family-4711", "tea").want(t, exit.Refused, "was delivered")
	do("offer", "family-4711", "cup").want(t, exit.Fine)
	do("withdraw", "family-4711", "cup").want(t, exit.Fine, "withdrawn")
	r := do("list", "family-4711", "-o", "json")
	var rows []rewardcommands.RewardRow
	if err := json.Unmarshal([]byte(r.stdout), &rows); err != nil || len(rows) != 2 || rows[0].Reward != "cup" || rows[1].Delivered == nil {
		t.Errorf("%v: %s", err, r.stdout)
	}
	if strings.Contains(r.stdout, "4711") || strings.Contains(r.stdout, "member-1") {
		t.Errorf("a person is shown: %s", r.stdout)
	}
	do("offer", "family 4711", "tea").want(t, exit.WrongUsage, "family is")
	do("claim", "family-4711", "tea").want(t, exit.WrongUsage, "want claim FAMILY REWARD MEMBER")
	do("list").want(t, exit.WrongUsage, "want one family")
}

// Three processes race on one family: for each reward one member has it, the others get the answer
// so, and each reward is recorded as delivered once.
func TestThreeProcessesOneFamily(t *testing.T) {
	t.Parallel()
	url := "redis://" + redisserver.Start(t).Addr()
	config := rewardConfig(t, "")
	process := func(args ...string) (int, string) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(append([]string{"reward"}, args...), "--redis", url, "--config", config)...)
		cmd.Env = append(os.Environ(), actAsMain+"=1")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), out.String()
	}
	for round := range 3 {
		name := fmt.Sprintf("reward-%d", round)
		codes := make([]int, 3)
		said := make([]string, 3)
		var race sync.WaitGroup
		for i := range codes {
			race.Go(func() { codes[i], said[i] = process("claim", "family-4711", name, fmt.Sprintf("member-%d", i)) })
		}
		race.Wait()
		has := 0
		for i, code := range codes {
			switch code {
			case exit.Fine:
				has++
			case exit.Refused:
			default:
				t.Errorf("process %d: exit code %d: %s", i, code, said[i])
			}
		}
		if has != 1 {
			t.Errorf("%d members have %s: %v", has, name, said)
		}
		for i := range codes {
			race.Go(func() { codes[i], said[i] = process("deliver", "family-4711", name) })
		}
		race.Wait()
		for i, code := range codes {
			if code != exit.Fine || said[i] != said[0] {
				t.Errorf("process %d: exit code %d: %s, the first got %s", i, code, said[i], said[0])
			}
		}
	}
	cronce(t, "reward", "list", "family-4711", "--redis", url, "--config", config).want(t, exit.Fine, "reward-0", "reward-2", "delivered")
}

// A shop serves rewards beside its sale, to callers that have the token.
func TestShopServesRewards(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	config := rewardConfig(t, ", rewards: {token_file: "+file(t, "token", "s3cret\n")+"}")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	shop := startNode(t, url, string(text))
	var address string
	eventually(t, "the shop is served", func() bool {
		for _, l := range shop.logs("shop served") {
			address = l.Text("address")
		}
		return address != ""
	})
	ask := func(method, path, token string, want int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != want {
			t.Errorf("%s %s: %d, want %d", method, path, answer.StatusCode, want)
		}
	}
	ask("PUT", "/families/f-1/rewards/tea", "wrong", http.StatusUnauthorized)
	ask("PUT", "/families/f-1/rewards/tea", "s3cret", http.StatusOK)
	ask("POST", "/families/f-1/rewards/tea/claims/ada", "s3cret", http.StatusOK)
	ask("POST", "/families/f-1/rewards/tea/claims/bob", "s3cret", http.StatusConflict)
	ask("GET", "/products/none", "", http.StatusNotFound)
	cronce(t, "node", "--check", "--redis", url, "--config", rewardConfig(t, ", rewards: {}")).want(t, exit.WrongUsage, "shop.rewards: token_env and token_file are both missing")
}
