package http_test

import (
	"os"
	"time"

	"github.com/cronce/cronce/jobs/http"
	"github.com/cronce/cronce/scheduler"
)

func ExampleNew() {
	cleanUp, err := http.New(http.Request{
		Method:        "POST",
		URL:           "https://shop.example.com/clean-up",
		SecretHeaders: map[string]func() string{"Authorization": func() string { return "Bearer " + os.Getenv("SHOP_TOKEN") }},
		Body:          `{"before": "{{.Tick}}", "fence": {{.Fence}}}`,
		Timeout:       5 * time.Minute,
		Idempotent:    true, // the shop cleans up once per Idempotency-Key
	})
	if err != nil {
		panic(err)
	}
	_ = scheduler.Job{Name: "cleanUp", Spec: "30 2 * * *", Func: cleanUp, Retry: scheduler.Retry{Tries: 3}}
}
