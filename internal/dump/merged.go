// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/tabular"
)

// group is the threads of one stack, in the order of the dump.
type group struct{ threads []*Thread }

// MergedText writes the stacks for people, each stack once: those of few threads first, so
// that what differs from the crowd is seen at once. Threads are together if they do the same
// in the same place: equal program counters, state and wait reason. Their names are put
// together, too, by what they have in common.
func MergedText(w io.Writer, p *Process) error {
	var b strings.Builder
	groups := merge(p.Threads)
	printable.Fprintf(&b, "%s, %s, %s\n", p.heading(), tabular.Plural(int64(len(p.Threads)), "thread"),
		tabular.Plural(int64(len(groups)), "stack"))
	for _, g := range groups {
		first := g.threads[0]
		if len(g.threads) == 1 {
			thread(&b, first, p.Native)
			continue
		}
		printable.Fprintf(&b, "\n%d threads:%s (%s)\n%s", len(g.threads), first.doing(), g.hows(), printable.Raw(g.list()))
		g.sayWaits(&b)
		stack(&b, first, p.Native)
	}
	tasksText(&b, p)
	p.parkedText(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// merge groups threads by stack, the smallest group first, and groups of one size in the
// order of their first threads.
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

// key is the same for two threads that do the same in the same place.
func (t *Thread) key() string {
	key := []byte(t.doing() + "\x00" + t.StopReason + "\x00")
	for i := range t.Frames {
		f := &t.Frames[i]
		key = binary.LittleEndian.AppendUint64(key, uint64(f.PC))
		if f.Kind != "" {
			key = binary.LittleEndian.AppendUint64(append(key, f.Function...), uint64(f.Line))
		}
	}
	return string(key)
}

// sayWaits says what the threads wait for, where all wait for the same.
func (g *group) sayWaits(b *strings.Builder) {
	first := g.threads[0]
	for _, t := range g.threads {
		if t.waitsLine() != first.waitsLine() {
			return
		}
	}
	first.sayWaits(b)
}

// hows lists the ways in which the threads were looked at.
func (g *group) hows() string {
	var hows []string
	for _, t := range g.threads {
		if !slices.Contains(hows, t.How) {
			hows = append(hows, t.How)
		}
	}
	return strings.Join(hows, ", ")
}

// list gives a line for each kind of name, with the threads that have it.
func (g *group) list() string {
	var b strings.Builder
	for _, s := range stems(g.threads) {
		printable.Fprintf(&b, "  %s\n", s.String())
	}
	return b.String()
}
