package spec_test

import (
	"testing"

	"github.com/cronce/cronce/scheduler/spec"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"@every 5s":                            "every 5 s",
		"@every 1h0m30s":                       "every 1 h 30 s",
		"@at 2027-03-28T02:30":                 "once, at 2027-03-28 02:30:00 UTC",
		"0/5 * * * * ?":                        "every 5 s",
		"* * * * * *":                          "every second",
		"* * * * *":                            "every minute",
		"*/5 * * * *":                          "every 5 min",
		"CRON_TZ=Asia/Kolkata */5 * * * *":     "every 5 min",
		"*/5 * * * 1-5":                        "every 5 min, Monday to Friday UTC",
		"@hourly":                              "every hour",
		"7 * * * *":                            "hourly at minute 7",
		"0 */4 * * *":                          "every 4 h, UTC",
		"CRON_TZ=Europe/Berlin 0 2 * * *":      "daily at 02:00 Europe/Berlin",
		"30 0 2,14 * * *":                      "daily at 02:00:30 and 14:00:30 UTC",
		"0 1,2,3 * * *":                        "daily at 01:00, 02:00 and 03:00 UTC",
		"0 9 * * MON-FRI":                      "Monday to Friday at 09:00 UTC",
		"0 9 * * 0,6":                          "Saturday and Sunday at 09:00 UTC",
		"0 9 * * 1,3,5":                        "Monday, Wednesday and Friday at 09:00 UTC",
		"0 9 * * 2-4":                          "Tuesday to Thursday at 09:00 UTC",
		"@weekly":                              "Sunday at 00:00 UTC",
		"@monthly":                             "on day 1 of each month at 00:00 UTC",
		"@yearly":                              "on January 1 at 00:00 UTC",
		"0 18 L * *":                           "on the last day of each month at 18:00 UTC",
		"0 18 LW * *":                          "0 18 LW * *",
		"0 9 1 * 1":                            "0 9 1 * 1",
		"0 9 1,15 * *":                         "0 9 1,15 * *",
		"0 0 9 * * * 2027":                     "0 0 9 * * * 2027",
		"*/7 * * * *":                          "*/7 * * * *",
		"2/5 * * * *":                          "2/5 * * * *",
		"0 9-17 * * *":                         "0 9-17 * * *",
		"30 */5 * * * *":                       "30 */5 * * * *",
		"0,30 2 * * *":                         "0,30 2 * * *",
		"0,30 0 2 * * *":                       "0,30 0 2 * * *",
		"* * 9-17 * * *":                       "* * 9-17 * * *",
		"* */5 * * * *":                        "* */5 * * * *",
		"*/5 9-17 * * *":                       "*/5 9-17 * * *",
		"*/5 0 * * * *":                        "*/5 0 * * * *",
		"7 9-17 * * *":                         "7 9-17 * * *",
		"30 7 * * * *":                         "30 7 * * * *",
		"*/5 * 1,15 * *":                       "*/5 * 1,15 * *",
		"0 9 * 3 *":                            "0 9 * 3 *",
		"0 9 * 3 1-5":                          "0 9 * 3 1-5",
		"0 9 1-31 * 1-5":                       "0 9 1-31 * 1-5",
		"0 9 1 * */2":                          "0 9 1 * */2",
		"0 9 1 3 */2":                          "0 9 1 3 */2",
		"0 9 1,15 3 *":                         "0 9 1,15 3 *",
		"0 9 1 3,6 *":                          "0 9 1 3,6 *",
		"0 18 1,L * *":                         "0 18 1,L * *",
		"0 18 L 3 *":                           "0 18 L 3 *",
		"0 18 L * */2":                         "0 18 L * */2",
		"0 2 * * * exclude=2026-12-25":         "0 2 * * * exclude=2026-12-25",
		"@every 1h until=2027-06-30T00:00:00Z": "@every 1h until=2027-06-30T00:00:00Z",
		"@every 1s not_before=2026-12-07T03:00:00Z":                       "@every 1s not_before=2026-12-07T03:00:00Z",
		"0 3 * * * not_before=2026-12-07T03:00 until=2026-12-07T03:00:01": "0 3 * * * not_before=2026-12-07T03:00 until=2026-12-07T03:00:01",
		"CRON_TZ=Europe/Berlin 0 2 * * * until=2030-01-01T00:00":          "CRON_TZ=Europe/Berlin 0 2 * * * until=2030-01-01T00:00",
	} {
		s, err := spec.Parse(text, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := s.Words(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
