// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"prywalk/internal/printable"
)

type group struct{ threads []*Thread }

// MergedText writes each stack once, those of few threads first. The threads of a stack have equal program counters,
// state and wait reason.
func MergedText(w io.Writer, p *Process) error {
	var b strings.Builder
	threads, schedule := p.shownThreads()
	groups := merge(threads)
	printable.Fprintf(&b, "%s, %s, %s%s\n", p.heading(), count(len(p.Threads), "thread"),
		count(len(groups), "stack"), p.goroutineCount())
	for _, g := range groups {
		first := g.threads[0]
		if len(g.threads) == 1 {
			writeThread(&b, first, p.Native)
			continue
		}
		printable.Fprintf(&b, "\n%d threads:%s (%s)\n%s", len(g.threads), first.stateText(), g.howsText(),
			printable.Raw(g.listText()))
		g.writeWait(&b)
		writeStack(&b, first, p.Native)
	}
	writeSchedulers(&b, schedule)
	writeTasks(&b, p)
	writeGoroutines(&b, p)
	p.writeParked(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func merge(threads []Thread) []*group {
	var groups []*group
	byKey := map[string]*group{}
	for i := range threads {
		key := threads[i].key()
		g := byKey[key]
		if g == nil {
			g = &group{}
			byKey[key] = g
			groups = append(groups, g)
		}
		g.threads = append(g.threads, &threads[i])
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return len(a.threads) - len(b.threads) })
	return groups
}

// key is equal for threads of one group.
func (t *Thread) key() string {
	key := []byte(t.stateText() + "\x00" + t.StopReason + "\x00")
	for i := range t.Frames {
		f := &t.Frames[i]
		key = binary.LittleEndian.AppendUint64(key, uint64(f.PC))
		if f.Kind != "" {
			key = binary.LittleEndian.AppendUint64(append(key, f.Function...), uint64(f.Line))
		}
	}
	return string(key)
}

func (g *group) writeWait(b *strings.Builder) {
	first := g.threads[0]
	for _, t := range g.threads {
		if t.waitsLine() != first.waitsLine() {
			return
		}
	}
	first.writeWait(b)
}

func (g *group) howsText() string {
	var hows []string
	for _, t := range g.threads {
		if how := howText(t.How); !slices.Contains(hows, how) {
			hows = append(hows, how)
		}
	}
	return strings.Join(hows, ", ")
}

func (g *group) listText() string {
	var b strings.Builder
	for _, s := range stems(g.threads) {
		printable.Fprintf(&b, "  %s\n", s.String())
	}
	return b.String()
}
