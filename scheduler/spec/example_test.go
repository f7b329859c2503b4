package spec_test

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

func ExampleParse() {
	s, err := spec.Parse("CRON_TZ=Asia/Shanghai 0 9 * * 1-5", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)
	for range 3 {
		at = s.Next(at)
		fmt.Println(at.Format("Mon 2006-01-02 15:04 MST"))
	}
	// Output:
	// Fri 2026-11-20 09:00 CST
	// Mon 2026-11-23 09:00 CST
	// Tue 2026-11-24 09:00 CST
}

// The last weekday of each month, and the second Friday, in one year.
func ExampleParse_last() {
	s, err := spec.Parse("0 0 18 LW * FRI#2 2027", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)
	for range 4 {
		at = s.Next(at)
		fmt.Println(at.Format("Mon 2006-01-02 15:04"))
	}
	fmt.Println(s.Next(time.Date(2028, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero())
	// Output:
	// Fri 2027-01-08 18:00
	// Fri 2027-01-29 18:00
	// Fri 2027-02-12 18:00
	// Fri 2027-02-26 18:00
	// true
}

func ExampleParse_refused() {
	for _, text := range []string{"*/100 * * * *", "0 0 30 2 *", "@every 500ms"} {
		_, err := spec.Parse(text, nil)
		fmt.Println(err)
	}
	// Output:
	// spec "*/100 * * * *": minute "*/100": step "100"; must be steps of 1 to 59
	// spec "0 0 30 2 *": day of month "30": never fires: no such day in month "2"
	// spec "@every 500ms": @every "500ms": must be whole seconds from 1s
}

func ExampleSchedule_Remark() {
	s, err := spec.Parse("CRON_TZ=America/New_York 30 2 * * *", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, time.March, 7, 0, 0, 0, 0, time.UTC)
	for range 3 {
		at = s.Next(at)
		fmt.Printf("%s %q\n", at.Format("2006-01-02 15:04 MST"), s.Remark(at))
	}
	// Output:
	// 2026-03-07 02:30 EST ""
	// 2026-03-08 03:00 EDT "02:30 does not exist on this day; runs at the end of the gap"
	// 2026-03-09 02:30 EDT ""
}

func ExampleSchedule_Prev() {
	s, err := spec.Parse("@every 90s", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, time.November, 20, 12, 0, 50, 0, time.UTC)
	fmt.Println(s.Prev(at).Format(time.TimeOnly), s.Next(at).Format(time.TimeOnly))
	// Output:
	// 12:00:00 12:01:30
}
