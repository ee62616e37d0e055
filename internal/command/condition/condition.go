// SPDX-License-Identifier: Apache-2.0

// Package condition finds out from a recording's intervals when a condition begins to hold.
//
// # Algorithm
//
// [Watch] is a sink of intervals. Add only adds two clocks up, and notes long sleeps; all else is in Refresh, once a
// second, with the open intervals: an interval asleep of a second or more is a sleep in which the thread has not run,
// so its length is that of the wait. A condition is reported when it begins to hold, and again after it has ceased to,
// but not within the pause. Of stalled, threads count that ran before, and whose wait is not idle by a rule: that
// is known only with names, so the rules are applied to waits that are long enough. For a deadlock the owners of locks
// are only a suspicion, which the caller examines.
package condition

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Condition is one parsed condition.
type Condition struct {
	text     string
	kind     string
	limit    float64        // threads, a share, or nanoseconds for blocked and stalled
	selected *regexp.Regexp // functions of blocked, threads of stalled
}

// String returns the condition as it was given.
func (c *Condition) String() string { return c.text }

// The kinds of conditions.
const (
	deadlock = "deadlock"
	waiters  = "waiters"
	runQueue = "runqueue"
	cpu      = "cpu"
	blocked  = "blocked"
	stalled  = "stalled"
)

// selectors are the words before what a kind selects.
var selectors = map[string]string{blocked: "under", stalled: "of"}

// Forms lists the conditions, for messages.
const Forms = "deadlock, waiters>10, runqueue>20%, cpu>90%, \"blocked>2s under FUNC\" or \"stalled>5s of THREAD\""

// minBlocked is the least time of blocked and stalled: only sleeps of a second have no runs in them.
const minBlocked = time.Second

var errForm = errors.New("give " + Forms)

// Parse parses a condition. The error says what to give.
func Parse(text string) (Condition, error) {
	c := Condition{text: strings.TrimSpace(text)}
	name, limit, _ := strings.Cut(c.text, ">")
	c.kind, limit = strings.TrimSpace(name), strings.TrimSpace(limit)
	selector := selectors[c.kind]
	limit, selected, selects := strings.Cut(limit, " "+selector+" ")
	var err error
	switch c.kind {
	case deadlock:
		if c.text != deadlock {
			return c, errForm
		}
	case waiters:
		var n int
		n, err = strconv.Atoi(limit)
		c.limit = float64(n)
	case runQueue, cpu:
		c.limit, err = strconv.ParseFloat(strings.TrimSuffix(limit, "%"), 64)
		c.limit /= 100
	case blocked, stalled:
		var d time.Duration
		if d, err = time.ParseDuration(strings.TrimSpace(limit)); err == nil && selects && d < minBlocked {
			return c, fmt.Errorf("give a time of at least %v", minBlocked)
		}
		c.limit = float64(d)
		if c.selected, _ = regexp.Compile(strings.TrimSpace(selected)); c.selected == nil {
			return c, fmt.Errorf("give a regular expression after %s", selector)
		}
	default:
		return c, errForm
	}
	if err != nil || selects != (selector != "") || !(c.limit >= 0) || c.kind == runQueue && c.limit >= 1 {
		return c, errForm
	}
	return c, nil
}
