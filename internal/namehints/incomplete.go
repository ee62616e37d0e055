// SPDX-License-Identifier: Apache-2.0

package namehints

import "strings"

// IncompleteName is the name of the frame at the outer end of a stack whose walk ended early, for a reason.
func IncompleteName(reason string) string { return incompleteBegin + reason + "]" }

const incompleteBegin = "[incomplete: "

// IncompleteReason gives the reason that such a name holds, false for other names.
func IncompleteReason(name string) (string, bool) {
	reason, ok := strings.CutPrefix(name, incompleteBegin)
	if !ok {
		return "", false
	}
	return strings.TrimSuffix(reason, "]"), true
}

// incomplete says for each reason what ended the walks and what to do; MODULE is the file that the stacks end in.
var incomplete = map[string]string{
	"no-rule": "neither the call frame information nor the instructions of MODULE lead to the caller; " +
		"SYMBOLS see prywalk help names",
	"bad-memory": "the return address is in memory that could not be read; compare with record --engine ptrace, " +
		"and see prywalk help names",
	"stack-cut": "the copy of the stack ended before the stack did; record without --max-pause, and with " +
		"--engine ptrace, which copies up to 8 MiB; see prywalk help names",
	"depth": "stacks with more frames than --max-depth; record with a larger --max-depth",
	"loop": "the next frame of MODULE is not further out on the stack: a damaged or unusual stack; " +
		"SYMBOLS see prywalk help names",
	"unproven": "a register was needed that a passive read cannot see; record without --read-only",
}

// AnyCode stands for the file of stacks that end in several, and Unmapped for that of addresses in no known mapping.
const (
	AnyCode  = "the code that these stacks end in"
	Unmapped = ""
)

// IncompleteCure says what ended the walks of stacks that are incomplete for a reason, and what to do. Module is the
// file that they end in, [AnyCode] or [Unmapped]. "": the reason is not known.
func IncompleteCure(reason, module string) string {
	symbols := "record it before strip (Haskell's stacks need the symbol table), or install its debug symbols, or"
	switch {
	case module == AnyCode:
		symbols = "prywalk report names that code;"
	case module == Unmapped && (reason == "no-rule" || reason == "loop"):
		return "the stacks end at addresses in no known mapping, mostly of processes that ended before their " +
			"mappings were read"
	case strings.HasPrefix(module, "["): // the program made it while it ran
		symbols = "for code generated at run time"
	}
	return strings.NewReplacer("MODULE", module, "SYMBOLS", symbols).Replace(incomplete[reason])
}

// muchIncomplete is the share from which on a row of incomplete stacks is among the first firstRows.
const (
	muchIncomplete = 0.02
	firstRows      = 5
)

// RaiseIncomplete puts the rows of incomplete stacks, which have nothing of their own, among the first of a table that
// is sorted by own values, where they have much of the total: what these stacks lack changes every total. The row
// stands where its total would, or higher.
func RaiseIncomplete[R any](rows []R, values func(*R) (name string, self, total int64)) {
	var all int64
	for i := range rows {
		_, self, _ := values(&rows[i])
		all += self
	}
	at := 0
	for i := range rows {
		row := rows[i]
		name, _, total := values(&row)
		if _, ok := IncompleteReason(name); !ok || float64(total) <= muchIncomplete*float64(all) {
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
