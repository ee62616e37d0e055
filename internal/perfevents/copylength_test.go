// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"cmp"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

func TestCopiesBecomeShorterAndLongerAgain(t *testing.T) {
	r := open(t, Options{Freq: 499, Programs: true})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, want := range []int{0, MinStack, 0, r.shortestCopyFor(MinStack + 1), MinStack, 0} {
		if !r.setCopyLength(want) || r.copyLength != want {
			t.Fatalf("setCopyLength(%d) fails", want)
		}
		r.Drain(func(*Record) {})
		asked := want
		if want == 0 {
			asked = r.Stack()
		}
		n, others, births := 0, 0, 0
		sample := func() {
			for range 1000 {
				spin(time.Millisecond)
				r.Drain(func(rec *Record) {
					switch {
					case rec.Kind == Forked:
						births++
					case rec.Kind != Sampled || rec.TID != unix.Gettid():
					case rec.Asked == asked && len(rec.Stack) <= asked && rec.Longest == (want == 0):
						n++
					default:
						others++
					}
				})
				if n >= 10 {
					break
				}
			}
		}
		// again if its record was lost
		for lost, tries := int64(-1), 0; births == 0 && lost < r.Lost() && tries < 20; tries++ {
			lost = r.Lost()
			if err := exec.Command("/bin/true").Run(); err != nil {
				t.Fatal(err)
			}
			n = 0
			sample()
		}
		if n < 10 || others > 0 {
			t.Errorf("%d samples with %d bytes of stack, want 10; %d with others, want 0", n, asked, others)
		}
		if births == 0 {
			t.Errorf("with %d bytes of stack no forks are recorded", asked)
		}
	}
}

func TestPausedEventsTakeNoShorterSamples(t *testing.T) {
	r := open(t, Options{Freq: 997})
	r.Pause()
	if !r.setCopyLength(MinStack) {
		t.Fatal("setCopyLength fails")
	}
	r.Drain(func(*Record) {})
	spin(50 * time.Millisecond)
	r.Drain(func(rec *Record) { t.Errorf("paused, yet a record came: %+v", rec) })
	r.Resume()
	n := 0
	for range 1000 {
		spin(time.Millisecond)
		r.Drain(func(rec *Record) {
			if n++; rec.Kind == Sampled && rec.Asked > MinStack {
				t.Errorf("a copy of %d bytes, want at most %d", rec.Asked, MinStack)
			}
		})
		if n > 10 {
			return
		}
	}
	t.Error("no thread is sampled after Resume")
}

func TestShorterCopiesStayShortOnNewCPUs(t *testing.T) {
	r := open(t, Options{Freq: 997})
	if !r.setCopyLength(MinStack) {
		t.Fatal("setCopyLength fails")
	}
	r.online = "" // as if CPUs were added
	if !r.ReopenIfCPUsChanged() || r.copyLength != MinStack {
		t.Errorf("copies of %d bytes on new CPUs, want %d", r.copyLength, MinStack)
	}
	rings := r.rings
	r.Close()
	for _, g := range rings {
		if g.shortEvent >= 0 {
			t.Errorf("CPU %d: the event of short copies is open", g.cpu)
		}
	}
}

func TestFitChoosesTheShortestSufficientCopy(t *testing.T) {
	for _, c := range []struct{ most, need, want int }{
		{MaxStack, 1, MinStack}, {MaxStack, MinStack, MinStack}, {MaxStack, MinStack + 1, copyLengths[1]},
		{MaxStack, copyLengths[2], copyLengths[2]}, {MaxStack, copyLengths[2] + 1, 0},
		{MinStack, 1, 0}, {copyLengths[1], 7000, 0},
	} {
		r := &Reader{opts: Options{Stack: c.most}}
		if got := r.shortestCopyFor(c.need); got != c.want {
			t.Errorf("%d of %d bytes needed: copies of %d, want %d", c.need, c.most, got, c.want)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	const freq, each = 9973, 5 * time.Millisecond
	r, err := Open(Options{Freq: freq, NoKernel: true})
	if err != nil {
		b.Skipf("needs kernel samples: sudo make test, on a kernel with perf events (%v)", err)
	}
	defer r.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, n := range []int{0, copyLengths[2], copyLengths[1], copyLengths[0]} {
		b.Run(fmt.Sprintf("copied=%d", cmp.Or(n, r.Stack())), func(b *testing.B) {
			r.setCopyLength(n)
			var took []float64
			for range max(b.N, 100) {
				r.Pause()
				without := turns(each)
				r.Resume()
				with := turns(each)
				r.Drain(func(*Record) {})
				took = append(took, (without/with-1)*1e9/freq)
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2], "ns/sample")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func turns(d time.Duration) float64 {
	begin, n := procmem.ThreadCPU(), 0
	end := begin
	for ; end-begin < uint64(d); end = procmem.ThreadCPU() {
		for range 10000 {
			n++
			sink = sink*31 + 7
		}
	}
	return float64(n) / float64(end-begin)
}

var sink int
