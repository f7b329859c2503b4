package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/cronce/cronce/internal/serverprocess"
)

// Prometheus takes the alerts of the folder, and they fire as their cases say; each is about metrics that docs/stock.md has.
func TestRules(t *testing.T) {
	t.Parallel()
	promtool := serverprocess.Find(t, "promtool", "prometheus")
	if out, err := exec.Command(promtool, "test", "rules", "shop.rules.test.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	rules, err := os.ReadFile("shop.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/stock.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`cronce_shop_\w+`).FindAllString(string(rules), -1) {
		if !regexp.MustCompile("`" + name + "\\b").Match(page) {
			t.Errorf("docs/stock.md lacks %s", name)
		}
	}
}
