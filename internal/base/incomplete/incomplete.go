// SPDX-License-Identifier: Apache-2.0

// Package incomplete names stacks whose walk ended early, sums their time, and has remedies by reason.
package incomplete

import (
	"fmt"
	"strings"
)

// Name is the outermost frame of a stack whose walk ended early.
func Name(reason string) string { return incompleteBegin + reason + "]" }

// Guessed is the outermost frame of a complete stack some of whose frames are guesses ([frames.MethodScan]).
const Guessed = "[guessed: scan]"

const incompleteBegin = "[incomplete: "

// Reason is the inverse of Name; it returns false for another name.
func Reason(name string) (string, bool) {
	reason, ok := strings.CutPrefix(name, incompleteBegin)
	if !ok {
		return "", false
	}
	return strings.TrimSuffix(reason, "]"), true
}

// remedies are by reason. MODULE is the file in which the stacks end.
var remedies = map[string]string{
	"no-rule": "neither the call frame information nor the instructions of MODULE lead to the caller; " +
		"SYMBOLS see prywalk help names",
	"bad-memory": "a rule led to memory that was not copied with the stack (another stack, or a page in swap); a dump " +
		"reads it, unless it is in swap; if the kernel took the samples, compare with record --engine ptrace; " +
		"see prywalk help names",
	"stack-cut": "the copy of the stack ended before the stack did; record with a longer --max-pause, or with off; if " +
		"the kernel took the samples, with --engine ptrace, which copies up to 8 MiB; see prywalk help names",
	"depth": "stacks with more frames than --max-depth; record with a larger --max-depth",
	"loop": "the next frame of MODULE is not further out on the stack: a damaged or unusual stack; " +
		"SYMBOLS see prywalk help names",
	"unproven": "a register was needed that a passive read cannot see; if --read-only was given, record without it, " +
		"else with a longer --max-pause; often nothing helps",
}

// AnyCode stands for several files, Unmapped for addresses in no known mapping.
const (
	AnyCode  = "the code that these stacks end in"
	Unmapped = ""
)

// remedy returns why walks ended, and what to do; "" for an unknown reason. module may be [AnyCode] or [Unmapped].
func remedy(reason, module string) string {
	symbols := "record it before strip (Go's stacks need no symbol table, but the function table that Go's linker " +
		"writes), or install its debug symbols, or"
	switch {
	case module == AnyCode:
		symbols = "prywalk report names that code;"
	case module == Unmapped && (reason == "no-rule" || reason == "loop"):
		return "the stacks end at addresses in no known mapping, mostly of processes that ended before their " +
			"mappings were read"
	case strings.HasPrefix(module, "["):
		symbols = "for code generated at run time (by a JIT compiler, Valgrind, QEMU)"
	}
	return strings.NewReplacer("MODULE", module, "SYMBOLS", symbols).Replace(remedies[reason])
}

// Rows of incomplete stacks above muchIncomplete of the total are raised.
const (
	muchIncomplete = 0.02
	firstRows      = 5
)

// Raise moves large rows of incomplete stacks up in a table sorted by own values: to the place of their total, or
// among the first firstRows.
func Raise[R any](rows []R, values func(*R) (name string, self, total int64)) {
	var all int64
	for i := range rows {
		_, self, _ := values(&rows[i])
		all += self
	}
	at := 0
	for i := range rows {
		row := rows[i]
		name, _, total := values(&row)
		if _, ok := Reason(name); !ok || float64(total) <= muchIncomplete*float64(all) {
			continue
		}
		to := at
		for ; to < i && to < firstRows-1; to++ {
			if _, self, _ := values(&rows[to]); self < total {
				break
			}
		}
		copy(rows[to+1:i+1], rows[to:i])
		rows[to] = row
		at = min(to+1, firstRows-1)
	}
}

// No reason is given above this share of complete stacks.
const wellComplete = 0.99

// MuchUnsampled is the share of time without samples above which it is reported.
const MuchUnsampled = 0.05

// minSampled is the least sampled share for a share of complete stacks.
const minSampled = 0.001

// minGuessed is the least share of guessed frames that is mentioned.
const minGuessed = 0.001

// Completeness sums a clock's time by where its stacks end.
type Completeness struct {
	all, incomplete, guessed      float64
	sampled, sampledAndIncomplete float64
	byReason                      map[string]float64
	byModule                      map[[2]string]float64 // by reason and module
}

// Add adds time. sampled means that it is the weight of a sample. reason is why the stack ends early, "" if it is
// complete; module is where ([AnyCode], [Unmapped]).
func (c *Completeness) Add(v float64, sampled bool, reason, module string) {
	c.all += v
	if sampled {
		c.sampled += v
	}
	if reason == "" || v == 0 {
		return
	}
	if c.byReason == nil {
		c.byReason, c.byModule = map[string]float64{}, map[[2]string]float64{}
	}
	c.incomplete += v
	if sampled {
		c.sampledAndIncomplete += v
	}
	c.byReason[reason] += v
	c.byModule[[2]string{reason, module}] += v
}

// AddGuessed adds sampled time of complete stacks with guessed frames.
func (c *Completeness) AddGuessed(v float64) {
	c.Add(v, true, "", "")
	c.guessed += v
}

// Share is that of complete stacks, 0 to 1. Unsampled time counts as complete.
func (c *Completeness) Share() float64 { return max(0, 1-c.incomplete/c.all) }

// Text is as "99.0% of CPU time with complete stacks, 12.0% with guessed frames" for the prefix "CPU ". percent formats
// shares. Precondition: there is time.
func (c *Completeness) Text(prefix string, percent func(float64) string) string {
	text := c.completeText(prefix, percent)
	if share := c.guessed / c.all; share >= minGuessed {
		text += ", " + percent(share) + " with guessed frames"
	}
	return text
}

func (c *Completeness) completeText(prefix string, percent func(float64) string) string {
	of, rest := "", ""
	sampled := c.sampled / c.all
	if prefix != "" {
		of = " of " + prefix + "time"
		rest = ", " + percent(1-sampled) + of + " without a sample"
	}
	switch {
	case sampled < minSampled:
		return "no " + prefix + "time was sampled"
	case sampled < 1-MuchUnsampled:
		share := percent(max(0, 1-c.sampledAndIncomplete/c.sampled))
		return share + " of sampled " + prefix + "time with complete stacks" + rest
	}
	return percent(c.Share()) + of + " with complete stacks"
}

// GuessedText says what guessed frames are; "" if there are few. time is the clock's name.
func (c *Completeness) GuessedText(time string, percent func(float64) string) string {
	if c.all <= 0 || 1-c.guessed/c.all >= wellComplete {
		return ""
	}
	return fmt.Sprintf("%s of %s in %s: callers found by a search of the stack, of which some can be wrong, as their "+
		"code has no call frame information; if the code is of a file, the debug symbols of that can help",
		percent(c.guessed/c.all), time, Guessed)
}

// MainReason is the main reason of incomplete stacks.
type MainReason struct {
	// Reason is the stop reason; "" means that few stacks are incomplete.
	Reason string
	// Module has most outermost functions.
	Module string
	Share  float64
}

// MainReason returns the main reason, by time.
func (c *Completeness) MainReason() (e MainReason) {
	if c.all <= 0 || c.Share() >= wellComplete {
		return e
	}
	most, in := 0.0, 0.0
	for reason, v := range c.byReason {
		if v > most || v == most && reason < e.Reason {
			most, e.Reason = v, reason
		}
	}
	for k, v := range c.byModule {
		if k[0] == e.Reason && (v > in || v == in && k[1] < e.Module) {
			in, e.Module = v, k[1]
		}
	}
	e.Share = most / c.all
	return e
}

// Next returns the next step.
func (e *MainReason) Next() string { return remedy(e.Reason, e.Module) }

// Text has share, reason and next step; "" without a reason. time is the clock's name.
func (e *MainReason) Text(time string, percent func(float64) string) string {
	if e.Reason == "" {
		return ""
	}
	return fmt.Sprintf("%s of %s in %s: %s", percent(e.Share), time, Name(e.Reason), e.Next())
}
