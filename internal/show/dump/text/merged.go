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
		goroutineCount(p)))
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
	for i := range t.Frames {
		f := &t.Frames[i]
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
		threads := make([]string, len(same))
		for i, t := range same {
			threads[i] = strconv.Itoa((*t).TID)
		}
		printable.Fprintf(b, "      %s: %s\n", enumerate(threads), waitsLine(*same[0]))
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
