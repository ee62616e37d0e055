// SPDX-License-Identifier: Apache-2.0

package doctor

// Level says how much a [Finding] matters.
type Level uint8

// The levels, in rising weight.
const (
	OK   Level = iota // as it should be
	Info              // optional, and not there
	Warn              // prywalk works, but not as well as it could
	Fail              // prywalk does not work
)

// String gives the word that the report shows.
func (l Level) String() string {
	switch l {
	case OK:
		return "ok"
	case Info:
		return "info"
	case Warn:
		return "warn"
	}
	return "fail"
}

// Finding is the result of one check.
type Finding struct {
	// Name says what was looked at, in a word or two.
	Name  string
	Level Level
	// Detail says what was found, and what follows from it.
	Detail string
	// Remedy is the smallest step that helps; empty if all is well, or nothing
	// helps.
	Remedy string
	// Command is a command that does it, as it can be pasted; empty if there is none.
	Command string
}

// finding makes one without a command.
func finding(name string, level Level, detail, remedy string) Finding {
	return Finding{Name: name, Level: level, Detail: detail, Remedy: remedy}
}

// Worst gives the highest level among findings.
func Worst(fs []Finding) Level {
	worst := OK
	for _, f := range fs {
		worst = max(worst, f.Level)
	}
	return worst
}
