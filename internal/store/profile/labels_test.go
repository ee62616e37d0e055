// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

func addThreads(b *Builder, from, to int) {
	stack := b.Intern([]Loc{{Module: testMain, Addr: 0x401000}})
	for i := from; i < to; i++ {
		iv := Interval{Stack: stack, PID: 7, TID: 100 + i, Comm: "app", Thread: fmt.Sprint("request-", i), State: "sleeping",
			Wait: "futex", WaitsFor: "a lock", Owner: i % 3, End: 1_700_000_000e9 + int64(i)*1e6, Samples: 1, Wall: int64(i) + 1}
		b.Add(iv)
		iv.TID, iv.Thread, iv.Owner = 7, "app", NoOwner
		b.Add(iv)
	}
}

func TestLabelsOfThreadsThatComeAndGoAreNotHeld(t *testing.T) {
	const threads = 5 * maxRecords / 2
	for _, dir := range []string{"", t.TempDir()} {
		b := NewBuilder(Meta{Start: time.Unix(1_700_000_000, 0), Period: time.Second / 100, SpillTo: dir})
		addThreads(b, 0, threads/2)
		early := b.freeze()
		addThreads(b, threads/2, threads)
		if n := b.Sizes().Labels; n > maxRecords {
			t.Errorf("%d labels are held", n)
		}
		var late, before bytes.Buffer
		if err := b.Write(&late, names); err != nil {
			t.Fatal(err)
		}
		if _, err := early.encode(&before, names); err != nil {
			t.Fatal(err)
		}
		checkThreads(t, late.Bytes(), threads)
		checkThreads(t, zipped(before.Bytes()), threads/2)
	}
}

func checkThreads(t *testing.T, text []byte, threads int) {
	t.Helper()
	p, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, s := range p.Sample {
		who := fmt.Sprint(s.NumLabel[LabelTID], s.Label[LabelThread], s.NumLabel[LabelOwner], s.Label[LabelOwner])
		found[who] += s.Value[1]
	}
	if len(found) != threads+1 {
		t.Errorf("%d threads, not %d", len(found), threads+1)
	}
	for i := range threads {
		owner := fmt.Sprintf("[%d]", i%3)
		if i%3 == 0 {
			owner = "[]"
		}
		if got := found[fmt.Sprintf("[%d] [request-%d] %s []", 100+i, i, owner)]; got != int64(i)+1 {
			t.Fatalf("thread %d: %d", i, got)
		}
	}
	if got, want := found["[7] [app] [] [nobody]"], int64(threads)*int64(threads+1)/2; got != want {
		t.Errorf("the one that lives on: %d, not %d", got, want)
	}
}

func TestEveryLabelIsPackedAndAllElseIsLeftOut(t *testing.T) {
	var iv Interval
	for _, f := range reflect.ValueOf(&iv).Elem().Fields() {
		switch f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Uint32, reflect.Uint64:
			f.SetUint(1)
		default:
			f.SetInt(1)
		}
	}
	l := labelsOf(&iv)
	for _, n := range l.numbers() {
		*n = 0
	}
	for _, s := range l.texts() {
		*s = ""
	}
	if l != (labelSet{}) {
		t.Errorf("left: %+v", l)
	}
}

func TestPackedLabelsComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var l labelSet
		for _, n := range l.numbers() {
			*n = int(rng.Int64()>>rng.IntN(63)) * (rng.IntN(3) - 1)
		}
		for _, s := range l.texts() {
			*s = fmt.Sprint("\x00ä", rng.IntN(9))[:rng.IntN(4)]
		}
		rest := append(l.appendTo(nil), "next"...)
		if got := takeLabels(&rest); *got != l || string(rest) != "next" {
			t.Fatalf("%+v, not %+v; %q follows", got, l, rest)
		}
	}
}

func TestAggregatedRecordingsHaveNoLabelsForChains(t *testing.T) {
	const own = "kind"
	text := LabelText(map[string]string{own: "a", LabelAwaitsLock: "0x1", LabelHolds: "0x2 0x3", LabelTaskStack: "0x4"})
	for _, c := range []struct{ text, want string }{
		{text, LabelText(map[string]string{own: "a"})}, {"", ""},
		{LabelText(map[string]string{own: LabelHolds}), LabelText(map[string]string{own: LabelHolds})},
	} {
		if got := WithoutChainLabels(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
