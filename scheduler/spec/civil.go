package spec

// The Gregorian calendar, extended in both directions, as arithmetic on days since 1970-01-01.
// Years begin in March here, so that the leap day is the last day of its year and months follow one
// formula.

const (
	daysPer400Years  = 146097
	marchYearToEpoch = 719468 // days from 1 March of year 0
)

// civil returns the date of a day.
func civil(day int64) (year int64, month, dom int) {
	day += marchYearToEpoch
	era := floorDiv(day, daysPer400Years)
	ofEra := day - era*daysPer400Years
	yearOfEra := (ofEra - ofEra/1460 + ofEra/36524 - ofEra/146096) / 365
	ofYear := int(ofEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100))
	fromMarch := (5*ofYear + 2) / 153
	dom = ofYear - (153*fromMarch+2)/5 + 1
	year = yearOfEra + era*400
	if fromMarch < 10 {
		return year, fromMarch + 3, dom
	}
	return year + 1, fromMarch - 9, dom
}

// dayNumber is the inverse of civil.
func dayNumber(year int64, month, dom int) int64 {
	fromMarch := month - 3
	if month < 3 {
		year--
		fromMarch = month + 9
	}
	era := floorDiv(year, 400)
	yearOfEra := year - era*400
	ofYear := int64((153*fromMarch+2)/5 + dom - 1)
	ofEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + ofYear
	return era*daysPer400Years + ofEra - marchYearToEpoch
}

// weekday returns 0 for Sunday to 6 for Saturday; 1970-01-01 was a Thursday.
func weekday(day int64) int {
	return int(day + 4 - 7*floorDiv(day+4, 7))
}

func monthLength(year int64, month int) int {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}
