// SPDX-License-Identifier: Apache-2.0

// Package incomplete names stacks whose walk ended early, sums their time, and has remedies by reason.
package incomplete

import "strings"

// Name is the outermost frame of a stack whose walk ended early.
func Name(reason string) string { return incompleteBegin + reason + "]" }

// Guessed is the outermost frame of a complete stack some of whose frames are guesses ([frames.MethodScan]).
const Guessed = "[guessed: scan]"

const incompleteBegin = "[incomplete: "

// Reason is the inverse of Name; false: another name.
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
