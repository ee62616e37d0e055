// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// Ten minutes of four running threads at 99 Hz, 500 stacks of 40 frames, incompressible times.
func TestLongRecordingStaysSmallAndCanBeRead(t *testing.T) {
	const intervals = 600 * 99 * 4
	rng := rand.New(rand.NewPCG(5, 6))
	b := NewBuilder(Meta{Start: time.Unix(1_700_000_000, 0), Period: time.Second / 99})
	stack := make([]Loc, 40)
	threads := []string{"main", "worker-1", "worker-2", "io"}
	for i := range intervals {
		n := rng.IntN(500)
		for d := range stack {
			stack[d] = Loc{Module: testMain, Addr: 0x400000 + uint64(d*1000+n>>(d/8))}
		}
		wall := int64(10e6) + rng.Int64N(1e6)
		b.Add(Interval{Stack: b.Intern(stack), PID: 4711, TID: 4711 + i%4, Comm: "server", Thread: threads[i%4],
			State: "running",
			End:   1_700_000_000e9 + int64(i/4)*1e9/99 + rng.Int64N(1e6), Samples: 1, Wall: wall, RunQueue: rng.Int64N(1e5),
			CPU: wall - rng.Int64N(2e5)})
	}
	var file bytes.Buffer
	if err := b.Write(&file, names); err != nil {
		t.Fatal(err)
	}
	inMemory, inFile := float64(memory(b))/intervals, float64(file.Len())/intervals
	t.Logf("%d intervals: %.1f bytes each in memory, %.1f in the file", intervals, inMemory, inFile)
	if inMemory > 64 || inFile > 64 {
		t.Errorf("%.1f bytes an interval in memory, %.1f in the file", inMemory, inFile)
	}
	p, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sample) != intervals || len(p.Location) > 500*40 {
		t.Errorf("%d samples, %d locations", len(p.Sample), len(p.Location))
	}
}

func TestIntervalsAreAddedWhileAWriteAsksForNames(t *testing.T) {
	const before = 50_000
	b := NewBuilder(Meta{SpillTo: t.TempDir()})
	addLong(b, before)
	calls := 0
	hooked := hookedNames(func() {
		calls++
		addLong(b, 10_000)
	})
	var file bytes.Buffer
	if err := b.Write(&file, hooked); err != nil {
		t.Fatal(err)
	}
	p, err := Read(&file)
	if err != nil || len(p.Sample) != before || calls == 0 {
		t.Errorf("%v, %d calls", err, calls)
	}
	file.Reset()
	if err := b.Write(&file, names); err != nil {
		t.Fatal(err)
	}
	if p, err := Read(&file); err != nil || len(p.Sample) != before+calls*10_000 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
