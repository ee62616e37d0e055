// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/stacks"
)

// WriteMerged writes each stack once, those of few threads first.
func WriteMerged(w io.Writer, p *stacks.Process) error {
	var b strings.Builder
	threads, asleepInScheduler := shownThreads(p)
	groups := groupBy(threads, threadKey)
	smallestFirst(groups)
	writeHeading(&b, p, fmt.Sprintf("%s, %s%s", count(len(p.Threads), "thread"), count(len(groups), "stack"),
		goroutineCount(p)+taskCount(p)))
	writeSummary(&b, p)
	for _, group := range groups {
		first := group[0]
		if len(group) == 1 {
			writeThread(&b, first, p.Native)
			continue
		}
		printable.Fprintf(&b, "\n%d threads:%s (%s)\n", len(group), stateText(first), howsText(group))
		for _, s := range groupByNumberedName(group) {
			printable.Fprintf(&b, "  %s\n", s.String())
		}
		writeWaits(&b, group)
		writeStack(&b, first, p.Native)
	}
	writeBesidesThreads(&b, p, asleepInScheduler)
	_, err := io.WriteString(w, b.String())
	return err
}

func groupBy[T any](list []T, key func(*T) string) (groups [][]*T) {
	known := map[string]int{}
	for i := range list {
		k := key(&list[i])
		if k == "" {
			continue
		}
		n, ok := known[k]
		if !ok {
			n = len(groups)
			known[k], groups = n, append(groups, nil)
		}
		groups[n] = append(groups[n], &list[i])
	}
	return groups
}

func smallestFirst[T any](groups [][]*T) {
	slices.SortStableFunc(groups, func(a, b []*T) int { return len(a) - len(b) })
}

func threadKey(t *stacks.Thread) string {
	key := []byte(stateText(t) + "\x00" + t.StopReason + "\x00")
	for f := range stacks.Each(t.Frames) {
		key = binary.LittleEndian.AppendUint64(key, uint64(f.PC))
		if f.Kind != "" {
			key = binary.LittleEndian.AppendUint64(append(key, f.Function...), uint64(f.Line))
		}
	}
	return string(key)
}

const maxWaits = 3

// writeWaits writes a group's different waits, each with its threads: those that are not idle first.
func writeWaits(b *strings.Builder, group []*stacks.Thread) {
	groups := groupBy(group, func(t **stacks.Thread) string { return waitsLine(*t) })
	if len(groups) == 0 {
		return
	}
	if len(groups) == 1 && len(groups[0]) == len(group) {
		writeWait(b, group[0])
		return
	}
	idle := func(g []**stacks.Thread) int { return (*g[0]).WaitsFor.Rank() }
	slices.SortStableFunc(groups, func(x, y []**stacks.Thread) int { return cmp.Compare(idle(x), idle(y)) })
	for _, same := range groups[:min(len(groups), maxWaits)] {
		threads := enumerateBy(same, func(t **stacks.Thread) string { return strconv.Itoa((*t).TID) })
		printable.Fprintf(b, "      %s: %s\n", threads, waitsLine(*same[0]))
	}
	if n := len(groups) - maxWaits; n > 0 {
		printable.Fprintf(b, "      … %s\n", count(n, "other wait"))
	}
}

func howsText(group []*stacks.Thread) string {
	var hows []string
	for _, t := range group {
		if how := howText(t.How); !slices.Contains(hows, how) {
			hows = append(hows, how)
		}
	}
	return strings.Join(hows, ", ")
}

// numberedName stands for threads whose names differ at most in one number.
type numberedName struct {
	prefix, suffix string // before and after the number
	numbers        []int  // ascending, one per thread; or nil
	tids           []int
}

func groupByNumberedName(threads []*stacks.Thread) (list []*numberedName) {
	for _, group := range groupBy(threads, func(t **stacks.Thread) string {
		before, number, after := splitNumber(shownName(*t))
		return fmt.Sprintf("%s\x00%s\x00%t", before, after, number >= 0)
	}) {
		s := &numberedName{}
		for _, t := range group {
			before, number, after := splitNumber(shownName(*t))
			s.prefix, s.suffix, s.tids = before, after, append(s.tids, (*t).TID)
			if number >= 0 {
				s.numbers = append(s.numbers, number)
			}
		}
		slices.Sort(s.numbers)
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b *numberedName) int { return cmp.Compare(len(b.tids), len(a.tids)) })
	return list
}

// maxDigits bounds a number; longer ones are identifiers.
const maxDigits = 9

func splitNumber(name string) (before string, number int, after string) {
	const digits = "0123456789"
	end := strings.LastIndexAny(name, digits) + 1
	begin := len(strings.TrimRight(name[:end], digits))
	if end == 0 || end-begin > maxDigits || name[begin] == '0' && end-begin > 1 {
		return name, -1, ""
	}
	number, err := strconv.Atoi(name[begin:end])
	if err != nil {
		return name, -1, ""
	}
	return name[:begin], number, name[end:]
}

const maxListed = 6

// String returns "worker-1…480 (480): 1001…1480", or all IDs if few.
func (n *numberedName) String() string {
	name := n.prefix + n.suffix
	if count := len(n.numbers); count > 0 {
		first, last := n.numbers[0], n.numbers[count-1]
		name = n.prefix + strconv.Itoa(first) + n.suffix
		if first != last {
			name = fmt.Sprintf("%s%d…%d%s", n.prefix, first, last, n.suffix)
		}
	}
	if len(n.tids) > maxListed {
		return fmt.Sprintf("%s (%d): %d…%d", name, len(n.tids), slices.Min(n.tids), slices.Max(n.tids))
	}
	text := name
	if len(n.tids) > 1 {
		text += fmt.Sprintf(" (%d)", len(n.tids))
	}
	var tids []string
	for _, tid := range n.tids {
		tids = append(tids, strconv.Itoa(tid))
	}
	return text + ": " + strings.Join(tids, " ")
}
