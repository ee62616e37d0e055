// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/host/filememory"
	rec "prywalk/internal/store/profile"
)

// Each figure is cheap in a file.
type shape struct {
	lines, depth, samples, labels, text uint16
	distinct                            bool
}

func (s shape) of() *profile.Profile {
	f := func(i int) *profile.Function {
		name := strings.Repeat("n", int(s.text)) + string(rune('a'+i%26))
		return &profile.Function{ID: uint64(i + 1), Name: name, Filename: name}
	}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, TimeNanos: 1}
	p.Function = []*profile.Function{f(0)}
	l := &profile.Location{ID: 1, Address: 1}
	for i := range max(1, int(s.lines)) {
		if s.distinct && i > 0 {
			p.Function = append(p.Function, f(i))
		}
		l.Line = append(l.Line, profile.Line{Function: p.Function[len(p.Function)-1], Line: int64(i + 1)})
	}
	p.Location = []*profile.Location{l}
	for i := range max(1, int(s.samples)) {
		x := &profile.Sample{Value: []int64{1e7}, NumLabel: map[string][]int64{"tid": {int64(i + 1)}},
			Label: map[string][]string{"thread": {strings.Repeat("t", i%64)}}}
		for range max(1, int(s.depth)) - i%2 {
			x.Location = append(x.Location, l)
		}
		for j := range int(s.labels) {
			x.Label[string(binary.AppendUvarint([]byte("k"), uint64(j)))] = []string{"v"}
		}
		p.Sample = append(p.Sample, x)
	}
	return p
}

func allForms(p *profile.Profile) map[string]func(io.Writer) error {
	all := map[string]func(io.Writer) error{}
	for name, f := range map[string]form{"table": Table, "tree": Tree, "folded": Folded, "html": HTML,
		"speedscope": Speedscope, "firefox": Firefox, "account": Account, "pgo": PGO, "otlp": OTLP, "perfetto": Perfetto} {
		for lines, o := range map[string]Options{"": {}, " lines": {Lines: true, N: -1}, " by": {By: "thread", Width: 80}} {
			all[name+lines] = func(w io.Writer) error { return f(w, p, o) }
		}
	}
	all["callers"] = func(w io.Writer) error { return Callers(w, p, "^n", Options{}) }
	all["callees"] = func(w io.Writer) error { return Callees(w, p, "n", Options{Width: 80}) }
	all["source"] = func(w io.Writer) error { return Source(w, p, "n", Options{}) }
	all["json"] = func(w io.Writer) error { return JSON(w, p, true, Options{By: "label", Lines: true}) }
	all["blame"] = func(io.Writer) error { _, err := Blame(p, &Options{}); return err }
	for _, per := range Normalizations() {
		all["diff per "+per] = func(w io.Writer) error {
			x, err := Diff(p, p, DiffOptions{Per: per, All: true})
			if err != nil {
				return err
			}
			defer x.Close()
			return errors.Join(x.Table(w), x.JSON(w), x.HTML(w), x.Folded(w))
		}
	}
	return all
}

const testTotal = 4 << 20

// The budget must be whole afterwards.
func (s shape) within(t *testing.T) {
	t.Helper()
	filememory.Process().SetTotal(testTotal)
	t.Cleanup(func() { filememory.Process().SetTotal(filememory.DefaultTotal) })
	p := s.of()
	for name, write := range allForms(p) {
		var before, after runtime.MemStats
		taken, out := filememory.Process().Used(), counter(0)
		runtime.ReadMemStats(&before)
		err := write(&out)
		runtime.ReadMemStats(&after)
		if now := filememory.Process().Used(); now != taken {
			t.Errorf("%+v, %s: %d bytes are still taken", s, name, now-taken)
		}
		// Garbage is proportional to the text and the rows' names, which have bounds.
		if got := int64(after.TotalAlloc - before.TotalAlloc); got > 4*testTotal+garbage*(int64(out)+s.names()) {
			t.Errorf("%+v, %s: %d bytes allocated, %d written: %v", s, name, got, out, err)
		}
		if int64(out) > 2*testTotal+64<<10 {
			t.Errorf("%+v, %s: %d bytes written: %v", s, name, out, err)
		}
	}
}

// garbage bytes per byte written or cut, at most
const garbage = 32

func (s shape) names() int64 {
	const rowCost, longest = 200, 2 << 12
	return min(int64(s.lines)*int64(s.depth), testTotal/2/rowCost) * min(int64(s.text), longest)
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// These took gigabytes, or did not end.
var hostile = map[string]shape{
	"lines times depth":           {lines: 2000, depth: 2000, samples: 1},
	"distinct lines times depth":  {lines: 2000, depth: 2000, samples: 2, distinct: true},
	"recursion":                   {lines: 1, depth: 65000, samples: 2},
	"recursion of a long name":    {lines: 1, depth: 6500, samples: 2, text: 65000},
	"lines of a long name":        {lines: 3000, depth: 1, samples: 1, text: 65000},
	"samples of much the same":    {lines: 100, depth: 100, samples: 200},
	"labels":                      {lines: 1, depth: 1, samples: 300, labels: 300},
	"samples with long names":     {lines: 1, depth: 3, samples: 5000, text: 65000},
	"deep stacks in many samples": {lines: 3, depth: 3000, samples: 60},
}

func TestSmallProfilesStayWithinTheBudget(t *testing.T) {
	for name, s := range hostile {
		t.Run(name, s.within)
	}
}

// Before, the tree had all nodes' values of all clocks, and its text was bounded by twice the budget.
func TestTextOfFunctionsAndCallsInJSONHasAnEighthOfTheBudget(t *testing.T) {
	total := 64<<20 + 2*filememory.Process().Used() // other tests may have files open
	room := int(total / jsonShare)
	filememory.Process().SetTotal(total)
	t.Cleanup(func() { filememory.Process().SetTotal(filememory.DefaultTotal) })
	full := 0
	for name, c := range map[string]struct {
		shape
		clocks int
	}{
		"recursion of a long name":        {shape{lines: 1, depth: 6500, samples: 2, text: 65000}, 1},
		"distinct calls with a long name": {shape{lines: 200, depth: 1, samples: 1, distinct: true, text: 65000}, 1},
		"recursion of a hundred clocks":   {shape{lines: 1, depth: 4500, samples: 2}, 100}, // json.Valid takes 5,000
		"distinct calls, a hundred":       {shape{lines: 450, depth: 10, samples: 2, distinct: true}, 100},
	} {
		p := c.of()
		for i := range c.clocks - 1 {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: fmt.Sprintf("clock%d", i), Unit: "nanoseconds"})
			for _, x := range p.Sample {
				x.Value = append(x.Value, 1<<40)
			}
		}
		length := map[int]int{}
		for _, n := range []int{1, 0, -1} {
			var b bytes.Buffer
			if err := JSON(&b, p, true, Options{N: n, Lines: true}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			length[n] = b.Len()
			if !json.Valid(b.Bytes()) {
				t.Errorf("%s, %d rows: no JSON", name, n)
			}
			if b.Len() > length[1]+room {
				t.Errorf("%s, %d rows: %d bytes, with one row %d", name, n, b.Len(), length[1])
			}
			if bytes.Contains(b.Bytes(), []byte(`cut":{`)) && b.Len() > room/2 {
				full++
			}
		}
	}
	if full < 4 {
		t.Errorf("%d texts have reached the bound: %d, an eighth of %d", full, room, total)
	}
}

func TestARefusedReportNamesTheFlag(t *testing.T) {
	filememory.Process().SetTotal(testTotal)
	t.Cleanup(func() { filememory.Process().SetTotal(filememory.DefaultTotal) })
	p := shape{lines: 1, depth: 65000, samples: 2}.of()
	var e *filememory.Error
	if err := Tree(io.Discard, p, Options{}); !errors.As(err, &e) || !strings.Contains(err.Error(), "--max-memory ") {
		t.Errorf("%v", err)
	}
	filememory.Process().SetTotal(filememory.DefaultTotal)
	var b bytes.Buffer
	if err := Tree(&b, p, Options{}); err != nil || strings.Count(b.String(), "\n") < 65000 {
		t.Errorf("%d lines: %v", strings.Count(b.String(), "\n"), err)
	}
}

func TestAPageWithoutMemoryIsRefused(t *testing.T) {
	t.Cleanup(func() { filememory.Process().SetTotal(filememory.DefaultTotal) })
	p := shape{lines: 20, depth: 3, samples: 3, distinct: true}.of()
	l := *p.Location[0]
	for i := range 100 { // each location is a further step at which memory may be refused
		more := l
		more.ID = uint64(i + 2)
		p.Location = append(p.Location, &more)
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1}, Location: []*profile.Location{&more}})
	}
	refused := 0
	for p, upTo := range map[*profile.Profile]int64{p: 4 << 20, large(t, 2500, 3): 64 << 20} {
		for total := upTo / 16; total < upTo; total += upTo / 16 {
			filememory.Process().SetTotal(total)
			if err := HTML(io.Discard, p, Options{}); err != nil {
				refused++
				if !strings.Contains(err.Error(), "--max-memory") {
					t.Fatalf("%d bytes: %v", total, err)
				}
			}
		}
	}
	if refused == 0 {
		t.Error("no budget was too small")
	}
}

func TestManyInlinedCallsAreRefused(t *testing.T) {
	p := shape{lines: 60000, depth: 60000, samples: 1}.of()
	if err := Folded(io.Discard, p, Options{}); err == nil || !strings.Contains(err.Error(), "3,600,000,000 frames") {
		t.Errorf("%v", err)
	}
}

func FuzzSizes(f *testing.F) {
	for _, s := range hostile {
		f.Add(s.lines, s.depth, s.samples, s.labels, s.text, s.distinct)
	}
	f.Fuzz(func(t *testing.T, lines, depth, samples, labels, text uint16, distinct bool) {
		// A profile's own size is bounded when it is read.
		s := shape{lines: lines, depth: depth, samples: samples % 300, labels: labels % 300, text: text, distinct: distinct}
		if s.distinct {
			s.text %= 100
		}
		var raw bytes.Buffer
		if err := s.of().Write(&raw); err != nil {
			t.Fatal(err)
		}
		if _, err := rec.Read(&raw); err != nil {
			return
		}
		s.within(t)
	})
}
