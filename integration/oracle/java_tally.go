// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// JavaTally counts the answers. The zero value is ready.
type JavaTally struct {
	rows      map[javaKey]*javaRow
	losts     map[string]int
	confirmed int
	shown     map[string]int
}

type javaKey struct{ mode, kind string }

type javaRow struct {
	by     [3]int
	places map[uint64]bool
}

func (t *JavaTally) init() {
	if t.rows == nil {
		t.rows, t.losts, t.shown = map[javaKey]*javaRow{}, map[string]int{}, map[string]int{}
	}
}

// Checked returns the walks in a mode, and how many were exact, incomplete and wrong.
func (t *JavaTally) Checked(mode string) (all, right, shorts, wrongs int) {
	for k, r := range t.rows {
		if k.mode == mode {
			right, shorts, wrongs = right+r.by[exact], shorts+r.by[short], wrongs+r.by[wrong]
		}
	}
	return right + shorts + wrongs, right, shorts, wrongs
}

// Lost returns how many stretches ended early.
func (t *JavaTally) Lost() (n int) {
	for _, k := range t.losts {
		n += k
	}
	return n
}

func (t *JavaTally) lost(o *javaRun, why string) { t.losts[o.mode+": "+why]++ }

func (t *JavaTally) count(o *javaRun, pc uint64, caller bool, v verdict) {
	kind := "not made at run time"
	if o.generated(pc) {
		kind = o.kind(pc)
	}
	if caller {
		kind += ", caller"
	}
	k := javaKey{o.mode, kind}
	r := t.rows[k]
	if r == nil {
		r = &javaRow{places: map[uint64]bool{}}
		t.rows[k] = r
	}
	r.by[v]++
	r.places[pc] = true
}

func (o *javaRun) explain(what string, at int, stop frames.StopReason) {
	pc := o.want(max(at-1, 0))
	key := fmt.Sprint(o.mode, what, o.kind(pc))
	if o.tally.shown[key]++; o.opt.Log == nil || o.tally.shown[key] > o.opt.Show {
		return
	}
	var b strings.Builder
	for i := range min(len(o.calls)+1, at+3) {
		fmt.Fprintf(&b, " %#x(%s)", o.want(i), o.kind(o.want(i)))
	}
	var code [48]byte
	n, _ := procmem.ReadVM(o.tid, pc-16, code[:])
	got := ""
	o.walk(func(f *frames.Frame) {
		if len(got) < 200 {
			got += fmt.Sprintf(" %#x %v", f.PC, f.Method)
		}
	})
	o.opt.Log("%s: %s at frame %d, %v, sp %#x; true chain:%s; got:%s; code: % x | % x", o.mode, what, at, stop,
		o.regs.SP(), b.String(), got, code[:min(n, 16)], code[min(n, 16):n])
}

// Write prints a row for each kind of code with a wrong or short walk, and one for the rest of each mode.
func (t *JavaTally) Write(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "mode\tcode\tplaces\tsteps\tright, %\tincomplete\twrong\t")
	keys := slices.SortedFunc(maps.Keys(t.rows), func(a, b javaKey) int {
		return strings.Compare(a.mode+" "+a.kind,
			b.mode+" "+b.kind)
	})
	rest := map[string]int{}
	for _, k := range keys {
		r := t.rows[k]
		all := r.by[exact] + r.by[short] + r.by[wrong]
		if all == r.by[exact] {
			rest[k.mode] += all
			continue
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%.3f\t%d\t%d\t\n", k.mode, k.kind, len(r.places), all,
			100*float64(r.by[exact])/float64(all), r.by[short], r.by[wrong])
	}
	for _, mode := range slices.Sorted(maps.Keys(rest)) {
		fmt.Fprintf(tw, "%s\tall others\t\t%d\t100\t0\t0\t\n", mode, rest[mode])
	}
	_ = tw.Flush()
	fmt.Fprintf(w, "%d callers of before a stretch were returned to; stretches that ended early: %v\n", t.confirmed,
		t.losts)
}
