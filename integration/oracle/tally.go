// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"prywalk/frames"
)

// Tally counts the answers. The zero value is ready.
type Tally struct {
	Classes map[Class]*Count

	program       string
	steps         int
	moving        int
	ahead         int
	moved         int
	strayed       int
	betweenStacks map[string]int
	emptyCFI      map[string]int
	overwritten   map[string]int
	rows          map[rowKey]*row
	order         []rowKey
	cur           *row
	shown         map[Judge]int
}

// Class is one way in which answers differ.
type Class struct {
	Judge            Judge
	Module, Function string // of the frame whose caller was not found
	Caller           bool
	Wrong            bool // another caller was given; else the walk was incomplete
	Stop             frames.StopReason
	Method           frames.Method
}

// Count counts a class.
type Count struct {
	Steps    int
	Addrs    map[uint64]int
	Programs map[string]bool
}

type rowKey struct{ program, module string }

type row struct {
	steps int
	by    [NumJudges][3]int
}

// Steps returns the instructions stepped through.
func (t *Tally) Steps() int { return t.steps }

// Checked returns a judge's walks, and how many gave exactly the true chain, and another.
func (t *Tally) Checked(j Judge) (checked, right, wrongs int) {
	for _, r := range t.rows {
		checked += r.walks(j)
		right += r.by[j][exact]
		wrongs += r.by[j][wrong]
	}
	return checked, right, wrongs
}

// Add adds another tally.
func (t *Tally) Add(o *Tally) {
	t.init()
	t.steps += o.steps
	t.moving += o.moving
	t.ahead += o.ahead
	t.moved, t.strayed = t.moved+o.moved, t.strayed+o.strayed
	t.order = append(t.order, o.order...)
	maps.Copy(t.rows, o.rows)
	for f, n := range o.betweenStacks {
		t.betweenStacks[f] += n
	}
	for f, n := range o.emptyCFI {
		t.emptyCFI[f] += n
	}
	for f, n := range o.overwritten {
		t.overwritten[f] += n
	}
	for c, n := range o.Classes {
		if old := t.Classes[c]; old != nil {
			old.add(n)
			continue
		}
		t.Classes[c] = n
	}
}

func (n *Count) add(o *Count) {
	n.Steps += o.Steps
	for a, k := range o.Addrs {
		n.Addrs[a] += k
	}
	maps.Copy(n.Programs, o.Programs)
}

// between counts steps at which call frame information does not describe the frame that the code goes to: glibc's
// swapcontext has loaded the other stack's pointer, but not pushed the return address yet.
func (t *Tally) between(o *run, pc uint64) {
	m, f, _ := o.files.locate(pc)
	t.betweenStacks[m+" "+f]++
}

func (t *Tally) init() {
	if t.rows == nil {
		t.rows, t.Classes, t.shown = map[rowKey]*row{}, map[Class]*Count{}, map[Judge]int{}
		t.betweenStacks, t.emptyCFI, t.overwritten = map[string]int{}, map[string]int{}, map[string]int{}
	}
}

func (t *Tally) step(o *run) {
	t.init()
	t.steps++
	name := "?"
	if m := o.proc.Space().ModuleAt(o.regs.PC); m != nil {
		name = m.Name
	}
	k := rowKey{t.program, name}
	r := t.rows[k]
	if r == nil {
		r = &row{}
		t.rows[k] = r
		t.order = append(t.order, k)
	}
	r.steps++
	t.cur = r
}

func (t *Tally) count(o *run, j *judge, r *outcome) {
	t.cur.by[j.kind][r.verdict]++
	if r.verdict == exact {
		return
	}
	i := max(r.at-1, 0)
	if i >= len(o.chain) {
		i = len(o.chain) - 1
	}
	pc := o.chain[i].pc
	if i > 0 {
		pc -= o.regs.Arch.CallLen()
	}
	m, f, addr := o.files.locate(pc)
	c := Class{Judge: j.kind, Module: m, Function: f, Caller: i > 0, Wrong: r.verdict == wrong, Stop: r.stop,
		Method: r.got.Method}
	n := t.Classes[c]
	if n == nil {
		n = &Count{Addrs: map[uint64]int{}, Programs: map[string]bool{}}
		t.Classes[c] = n
	}
	n.Steps++
	n.Addrs[addr]++
	n.Programs[t.program] = true
	if o.opt.Log != nil && n.Addrs[addr] == 1 && t.shown[j.kind] < o.opt.Show {
		t.shown[j.kind]++
		o.opt.Log("%v: %v at frame %d: %s %s %#x, got %#x sp %#x %v, stop %v, step %d%s", j.kind,
			[]string{"exact", "short", "wrong"}[r.verdict], r.at, m, f, addr, r.got.PC, r.got.SP, r.got.Method, r.stop, t.steps,
			o.files.chainText(o.chain))
	}
}

// Write prints the table and the classes.
func (t *Tally) Write(w io.Writer, classes int) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "program\tlibrary\tsteps\tchecked\t")
	for j := range NumJudges {
		fmt.Fprintf(tw, "%v\t(wrong)\t", j)
	}
	fmt.Fprintln(tw)
	total := row{}
	for _, k := range t.order {
		r := t.rows[k]
		total.add(r)
		r.write(tw, k.program, base(k.module))
	}
	total.write(tw, "all", "")
	_ = tw.Flush()
	fmt.Fprintf(w,
		"%d steps between two stacks have no true chain: %v; at %d the call frame information correctly describes where "+
			"a jump leads\n", t.moving, t.betweenStacks, t.ahead)
	fmt.Fprintf(w, "walks through functions whose call frame information is empty and proven wrong: %v\n",
		t.emptyCFI)
	fmt.Fprintf(w, "returns by an address that a function had moved: %d from the expected place, %d from another\n",
		t.moved, t.strayed)
	fmt.Fprintf(w, "walks through functions that had overwritten their return address: %v\n", t.overwritten)
	t.writeClasses(w, classes)
}

func (r *row) walks(j Judge) int { return r.by[j][exact] + r.by[j][short] + r.by[j][wrong] }

func (r *row) add(o *row) {
	r.steps += o.steps
	for j := range r.by {
		for v := range r.by[j] {
			r.by[j][v] += o.by[j][v]
		}
	}
}

func (r *row) write(w io.Writer, program, module string) {
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t", program, module, r.steps, r.walks(WithCFI))
	for j := range r.by {
		fmt.Fprintf(w, "%.4f %%\t%d\t", 100*float64(r.by[j][exact])/float64(max(r.walks(Judge(j)), 1)), r.by[j][wrong])
	}
	fmt.Fprintln(w)
}

func (t *Tally) writeClasses(w io.Writer, limit int) {
	for j := range NumJudges {
		var cs []Class
		for c := range t.Classes {
			if c.Judge == j {
				cs = append(cs, c)
			}
		}
		slices.SortFunc(cs, func(a, b Class) int {
			return cmp.Or(cmp.Compare(t.Classes[b].Steps, t.Classes[a].Steps),
				cmp.Compare(a.Module+a.Function, b.Module+b.Function))
		})
		if len(cs) > 0 {
			fmt.Fprintf(w, "%v: %d classes\n", j, len(cs))
		}
		for _, c := range cs[:min(limit, len(cs))] {
			n := t.Classes[c]
			fmt.Fprintf(w, "  %8d %v\n", n.Steps, c.text(n))
		}
	}
}

func (c Class) text(n *Count) string {
	what := "ends: " + c.Stop.String()
	if c.Wrong {
		what = "WRONG, by " + c.Method.String() + " " + c.Stop.String()
	}
	at := "innermost"
	if c.Caller {
		at = "caller"
	}
	addr, most := uint64(0), 0
	for a, k := range n.Addrs {
		if k > most || k == most && a < addr {
			addr, most = a, k
		}
	}
	return fmt.Sprintf("%s %s (%s, %d places, as %#x): %s", c.Module, c.Function, at, len(n.Addrs), addr, what)
}

func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}
