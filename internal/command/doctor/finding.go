// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"slices"

	"prywalk/internal/base/refusal"
	"prywalk/internal/host/process"
)

// Level is a [Finding]'s weight.
type Level uint8

// Levels, by rising weight.
const (
	OK   Level = iota
	Warn       // prywalk works, with less
	Fail       // prywalk does not work
)

// String returns the level as doctor prints it.
func (l Level) String() string {
	switch l {
	case OK:
		return "ok"
	case Warn:
		return "warn"
	}
	return "fail"
}

// Finding is a check's result.
type Finding struct {
	Name  string
	Level Level
	// Detail is the finding and its consequence.
	Detail string
	// Remedy is the smallest step that helps; "": none.
	Remedy string
	// Command is that step's command line; "": none.
	Command string

	denied bool // a right is missing
	// needsCaps are added by setcap; 0: Command is another one. One command adds those of all findings, as each setcap
	// replaces the one before.
	needsCaps      uint64
	minimalCommand string // Command for other users' processes only
}

func finding(level Level, detail, remedy string) Finding {
	return Finding{Level: level, Detail: detail, Remedy: remedy}
}

func failure(err error) Finding {
	e, ok := errors.AsType[*process.Error](err)
	if !ok {
		return finding(Fail, err.Error(), "")
	}
	f := finding(Fail, e.Cause, e.Next)
	f.denied = errors.Is(err, refusal.Denied)
	if e.Gate != nil {
		f.Remedy, f.Command, f.needsCaps = e.Gate.Remedy, e.Gate.Command, e.Gate.Needs
	}
	return f
}

// Worst returns the gravest level.
func Worst(fs []Finding) Level {
	worst := OK
	for _, f := range fs {
		worst = max(worst, f.Level)
	}
	return worst
}

// Denied reports whether a right is missing, without which a check failed.
func Denied(fs []Finding) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.denied })
}
