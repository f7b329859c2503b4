package spec_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
)

var refusedTests = []struct{ text, field, value, reason string }{
	// As a whole.
	{"", "", "", "empty"},
	{" \t\n", "", "", "empty"},
	{strings.Repeat("1,", 128) + "1 * * * *", "", "", "265 bytes"},
	{"* * * *", "", "", "4 fields"},
	{"* * * * * * * *", "", "", "8 fields"},
	{"0 9\n* * *", "", "", `character '\n'`},
	{"0 9 * * *;", "", "", "character ';' at byte 9"},
	{"0 9 * * lundi\xff", "", "", "character"},
	{"０ 9 * * *", "", "", "character '０'"},

	{"0", "", "", "1 field; "},
	{"0 9 *", "", "", "3 fields; "},

	// Lists.
	{", * * * *", "minute", ",", "empty list item"},
	{", * * * * *", "second", ",", "empty list item"},
	{"1,2,,3 * * * *", "minute", "1,2,,3", "empty list item"},
	{"1, * * * *", "minute", "1,", "empty list item"},

	// Values.
	{"60 * * * *", "minute", "60", "0-59"},
	{"* 24 * * *", "hour", "24", "0-23"},
	{"* * 0 * *", "day of month", "0", "1-31"},
	{"* * 32 * *", "day of month", "32", "1-31, *, ?, L, L-3, 15W, LW, ranges"},
	{"* * * 13 *", "month", "13", "1-12, JAN-DEC"},
	{"* * * * 8", "day of week", "8", "0-7, SUN-SAT, *, ?, 5L, 5#3, ranges"},
	{"* * * * xyz", "day of week", "xyz", "SUN-SAT"},
	{"* jan * * *", "hour", "jan", "0-23"},
	{"+5 * * * *", "minute", "+5", "0-59"},
	{"-5 * * * *", "minute", "-5", "0-59"},
	{"1.5 * * * *", "minute", "1.5", "0-59"},
	{"99999999999999999999 * * * *", "minute", "99999999999999999999", "0-59"},
	{"TZ=UTC CRON_TZ=UTC 0 * * *", "minute", "CRON_TZ=UTC", "0-59"},

	// Ranges.
	{"*-5 * * * *", "minute", "*-5", "ranges a-b"},
	{"?-5 * * * *", "minute", "?-5", "ranges a-b"},
	{"5-* * * * *", "minute", "5-*", "ranges a-b"},
	{"5- * * * *", "minute", "5-", "ranges a-b"},
	{"1-2-3 * * * *", "minute", "1-2-3", "ranges a-b"},
	{"30-10 * * * *", "minute", "30-10", "backwards"},
	{"* 22-2 * * *", "hour", "22-2", "backwards"},
	{"* * * * 5-0", "day of week", "5-0", "backwards"},

	// Steps.
	{"*/100 * * * *", "minute", "*/100", "1 to 59"},
	{"*/60 * * * *", "minute", "*/60", "1 to 59"},
	{"0 */24 * * *", "hour", "*/24", "1 to 23"},
	{"* * * */13 *", "month", "*/13", "1 to 12"},
	{"* * * * */7", "day of week", "*/7", "1 to 6"},
	{"*/0 * * * *", "minute", "*/0", "1 to 59"},
	{"*/-1 * * * *", "minute", "*/-1", "1 to 59"},
	{"*/ * * * *", "minute", "*/", "1 to 59"},
	{"/5 * * * *", "minute", "/5", "0-59"},
	{"1/2/3 * * * *", "minute", "1/2/3", "1 to 59"},
	{"* * * * 7/2", "day of week", "7/2", "Sunday as 0"},

	// L, W and # in the wrong place, or of the wrong value.
	{"0 0 9 L3 * ?", "day of month", "L3", "L stands alone"},
	{"0 0 9 5L * ?", "day of month", "5L", "L stands alone"},
	{"0 0 9 L/2 * ?", "day of month", "L/2", "L stands alone"},
	{"0 0 9 L-0 * ?", "day of month", "L-0", "L-1 to L-30"},
	{"0 0 9 L-31 * ?", "day of month", "L-31", "L-1 to L-30"},
	{"0 0 9 L- * ?", "day of month", "L-", "L-1 to L-30"},
	{"0 0 9 L-31W * ?", "day of month", "L-31W", "L-1 to L-30"},
	{"0 0 9 0W * ?", "day of month", "0W", "1W to 31W"},
	{"0 0 9 32W * ?", "day of month", "32W", "1W to 31W"},
	{"0 0 9 W * ?", "day of month", "W", "1W to 31W"},
	{"0 0 9 1-15W * ?", "day of month", "1-15W", "1W to 31W"},
	{"0 0 9 15W/2 * ?", "day of month", "15W/2", "1-31"},
	{"0 0 9 1#2 * ?", "day of month", "1#2", "# (nth weekday of the month) belongs in the day of week"},
	{"0 0 9 1,,L * ?", "day of month", "1,,L", "empty list item"},
	{"0 0 9 ? * L", "day of week", "L", "Saturday, which Quartz reads L as, is 6"},
	{"0 0 9 ? * L-3", "day of week", "L-3", "L stands behind a day of week"},
	{"0 0 9 ? * 8L", "day of week", "8L", "behind one day of week"},
	{"0 0 9 ? * 1-5L", "day of week", "1-5L", "behind one day of week"},
	{"0 0 9 ? * 5W", "day of week", "5W", "W (nearest weekday) belongs in the day of month"},
	{"0 0 9 ? * 5#0", "day of week", "5#0", "1 to 5"},
	{"0 0 9 ? * 5#6", "day of week", "5#6", "1 to 5"},
	{"0 0 9 ? * 5#", "day of week", "5#", "1 to 5"},
	{"0 0 9 ? * #5", "day of week", "#5", "1 to 5"},
	{"0 0 9 ? * 8#1", "day of week", "8#1", "1 to 5"},
	{"0 0 9 ? * MON-FRI#1", "day of week", "MON-FRI#1", "1 to 5"},
	{"0 0 9 ? * 5#1/2", "day of week", "5#1/2", "1 to 5"},
	{"0 0 L * * ?", "hour", "L", "L (last) belongs in the day of month"},
	{"0 0 L-3 * * ?", "hour", "L-3", "L (last) belongs in the day of month"},
	{"0 0 9 ? 5L *", "month", "5L", "L (last) belongs in the day of month"},
	{"0 5W 9 * * ?", "minute", "5W", "W (nearest weekday) belongs in the day of month"},

	// Years.
	{"0 0 9 * * ? 1969", "year", "1969", "1970-2199"},
	{"0 0 9 * * ? 2200", "year", "2200", "1970-2199"},
	{"0 0 9 * * ? 27", "year", "27", "1970-2199"},
	{"0 0 9 * * ? 2030-2027", "year", "2030-2027", "backwards"},
	{"0 0 9 * * ? 2027,", "year", "2027,", "empty list item"},
	{"0 0 9 * * ? */230", "year", "*/230", "1 to 229"},
	{"0 0 9 * * ? L", "year", "L", "1970-2199"},
	{"0 9 * * 1 2027", "day of week", "2027", "looks like a year: six fields"},
	{"0 9 * * 1 2027-2030", "day of week", "2027-2030", "looks like a year: six fields"},
	{"0 9 ? * MON-FRI *", "month", "MON-FRI", "looks like a day of week: five fields begin with the minute"},
	{"0 9 ? * FRI *", "month", "FRI", "looks like a day of week"},

	// What others choose for each job.
	{"H * * * *", "minute", "H", "H (a value that a hash of the job's name chooses) stands in the second"},
	{"H/15 * * * *", "minute", "H/15", "of the spec of a job"},
	{"H(0-29)/10 * * * *", "", "", "H (a value that a hash of the job's name chooses) stands in the second"},
	{"0~30 * * * *", "", "", "~ (a random value) is not supported"},
	{"~ * * * *", "", "", "write H in the spec of a job"},
	{"(1) * * * *", "", "", "character '('"},

	// Descriptors.
	{"@reboot", "descriptor", "@reboot", "@daily"},
	{"@Daily", "descriptor", "@Daily", "@daily"},
	{"@daily 5", "descriptor", "@daily 5", "@daily"},
	{"@every", "@every", "", "duration"},
	{"@every x", "@every", "x", "duration"},
	{"@every 90", "@every", "90", "duration"},
	{"@every5s", "descriptor", "@every5s", "@every"},
	{"@every 1h 30m", "@every", "1h 30m", "duration"},
	{"@every 0s", "@every", "0s", "whole seconds from 1s"},
	{"@every -5s", "@every", "-5s", "whole seconds from 1s"},
	{"@every 0.5s", "@every", "0.5s", "whole seconds from 1s"},
	{"@every 1.5s", "@every", "1.5s", "whole seconds from 1s"},
	{"@every 1ns", "@every", "1ns", "whole seconds from 1s"},
	{"@every 10000000h", "@every", "10000000h", "duration"},
	{"CRON_TZ=Asia/Shanghai @every 24h", "@every", "24h", "no zone"},

	// Zones.
	{"TZ=", "zone", "", "no schedule"},
	{"TZ=0", "zone", "0", "no schedule"},
	{"TZ=UTC", "zone", "UTC", "no schedule"},
	{"CRON_TZ=UTC ", "zone", "UTC", "no schedule"},
	{"TZ=TZ=TZ=", "zone", "TZ=TZ=", "no schedule"},
	{"TZ= 0 9 * * *", "zone", "", "empty"},
	{"TZ=Asia/Shangai 0 9 * * *", "zone", "Asia/Shangai", "not in the time zone database"},
	{"TZ=../../etc/passwd 0 9 * * *", "zone", "../../etc/passwd", "not in the time zone database"},
	{"TZ=Asia//Shanghai 0 9 * * *", "zone", "Asia//Shanghai", "not in the time zone database"},
	{"TZ=Asia/./Shanghai 0 9 * * *", "zone", "Asia/./Shanghai", "not in the time zone database"},
	{"TZ=/UTC 0 9 * * *", "zone", "/UTC", "not in the time zone database"},
	{"TZ=Asia 0 9 * * *", "zone", "Asia", "not in the time zone database"},
	{"TZ=Local 0 9 * * *", "zone", "Local", "machine to machine"},

	// Never.
	{"0 0 30 2 *", "day of month", "30", "never fires"},
	{"0 0 31 2,4,6,9,11 ?", "day of month", "31", "never fires"},
	{"0 0 0 30-31 feb *", "day of month", "30-31", "never fires"},
	{"0 0 0 30W 2 ?", "day of month", "30W", "never fires"},
	{"0 0 0 L-30 4 ?", "day of month", "L-30", "never fires"},
	{"0 0 0 29 2 ? 2027", "day of month", "29", `never fires: no such day in month "2" of year "2027"`},
	{"0 0 0 29 2 ? 2027/2", "day of month", "29", "never fires"},
	{"0 0 0 ? 2 MON#5 2027", "day of week", "MON#5", "never fires"},
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range refusedTests {
		s, err := spec.Parse(tt.text, nil)
		fault, ok := errors.AsType[*spec.Error](err)
		if !ok || s != nil {
			t.Errorf("%q: got %v, %v, want an *Error", tt.text, s, err)
			continue
		}
		if fault.Spec != strings.TrimSpace(tt.text) || fault.Field != tt.field || fault.Value != tt.value {
			t.Errorf("%q: spec %q, field %q, value %q", tt.text, fault.Spec, fault.Field, fault.Value)
		}
		if !strings.Contains(fault.Reason, tt.reason) {
			t.Errorf("%q: reason %q does not contain %q", tt.text, fault.Reason, tt.reason)
		}
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct{ text, want string }{
		{"*/100 * * * *", `spec "*/100 * * * *": minute "*/100": step "100"; must be steps of 1 to 59`},
		{"0 0 30 2 *", `spec "0 0 30 2 *": day of month "30": never fires: no such day in month "2"`},
		{"2027 * * * *", `spec "2027 * * * *": minute "2027": must be made of 0-59, *, ?, ranges a-b, steps /n, and lists of these`},
		{"0 mon * * *", `spec "0 mon * * *": hour "mon": must be made of 0-23, *, ?, ranges a-b, steps /n, and lists of these`},
		{strings.Repeat("1", 300), `spec "` + strings.Repeat("1", 80) + `...": 300 bytes long; at most 256 are allowed`},
	}
	for _, tt := range tests {
		if _, err := spec.Parse(tt.text, nil); err == nil || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}

func TestParseRefusesTheMachinesZone(t *testing.T) {
	for _, local := range []*time.Location{time.Local, time.FixedZone("Local", 3600)} {
		if _, err := spec.Parse("0 9 * * *", local); err == nil || !strings.Contains(err.Error(), "Local") {
			t.Errorf("got %v", err)
		}
	}
	if s, err := spec.Parse("TZ=UTC 0 9 * * *", time.Local); err != nil || s.Zone() != time.UTC {
		t.Errorf("a spec with a zone of its own: %v, %v", s, err)
	}
}

// The machine's zone does not leak in through package time.
func TestParseIgnoresTZ(t *testing.T) {
	before := time.Local
	time.Local = zone(t, "Asia/Tokyo")
	t.Cleanup(func() { time.Local = before })
	if s, err := spec.Parse("0 9 * * *", time.Local); err == nil {
		t.Errorf("the machine's zone is accepted as %v", s.Zone())
	}
	got := parse(t, "0 9 * * *", nil).Next(instant(t, "2026-07-09 08:00", time.UTC))
	if want := instant(t, "2026-07-09 09:00", time.UTC); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRemarks(t *testing.T) {
	shanghai := zone(t, "Asia/Shanghai")
	const quartz = "Quartz counts Sunday as 1, here 1 is Monday"
	tests := []struct {
		text string
		zone *time.Location
		want []string
	}{
		{"0 0 9 ? * 2-6", nil, []string{quartz}},
		{"0 9 ? * 1", nil, []string{quartz}},
		{"0 0 9 * * 2-6", nil, []string{quartz}},
		{"0 0 9 * * 2-6 2027", nil, []string{quartz}},
		{"0 9 * * 5L", nil, []string{quartz}},
		{"0 9 * * 5#3", nil, []string{quartz}},
		{"0 9 * * FRI#3", nil, nil},
		{"0 9 * * FRIL", nil, nil},
		{"0 0 9 * * 0", nil, nil},
		{"0 0 9 * * 0,6", nil, nil},
		{"0 0 9 * * FRI#3,MON", nil, nil},
		{"0 9 ? * MON-FRI", nil, nil},
		{"0 9 ? * */2", nil, nil},
		{"0/5 * * * * ?", nil, nil},
		{"0 9 * * 1-5", nil, nil},
		{"0 9 13 * 5", nil, []string{"a day matches when either does"}},
		{"0 9 L * FRI", nil, []string{"a day matches when either does"}},
		{"0 9 13 * FRI#2", nil, []string{"a day matches when either does"}},
		{"0 9 LW * ?", nil, nil},
		{"0 0 5,* * 1", nil, []string{`day of month "5,*": the * in the list matches any value`}},
		{"0,*,30 0 5 * *", nil, []string{`minute "0,*,30": the * in the list`}},
		{"0,? 0 5 * *", nil, []string{`minute "0,?": the * in the list`}},
		{"0,*/30 0 5 * *", nil, nil},
		{"0 10 * * ? *", nil, []string{"six fields begin with the second"}},
		{"0 18 ? * 2-6 *", nil, []string{"six fields begin with the second"}},
		{"0 9 * * 1-5 *", nil, []string{"six fields begin with the second"}},
		{"0 9 * * 1 *", nil, []string{"six fields begin with the second"}},
		{"0 9 * * 8 *", nil, nil},
		{"0 9 9 * 1-5 *", nil, nil},
		{"0 * * * 1-5 *", nil, nil},
		{"0 9 * 15 1-5 *", nil, nil},
		{"0 9 * * 1-5 MON", nil, nil},
		{"9 * * 1-5 *", nil, nil},
		{"0 0 10 * * ? *", nil, nil},
		{"0 0 10 ? * MON *", nil, nil},
		{"@every 24h", shanghai, []string{"zone Asia/Shanghai has no effect"}},
		{"CRON_TZ=Asia/Shanghai @every 24h exclude=SAT", nil, nil},
		{"@every 24h", nil, nil},
	}
	for _, tt := range tests {
		got := parse(t, tt.text, tt.zone).Remarks()
		if len(got) != len(tt.want) {
			t.Errorf("%q: remarks %q", tt.text, got)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], tt.want[i]) {
				t.Errorf("%q: remark %q, want %q", tt.text, got[i], tt.want[i])
			}
		}
	}
}
