// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
)

// Passing is src/passing.c: threads pass a lock on and log its holder.
type Passing struct {
	PID  int
	file string
}

// Holding is when a thread held the lock at least: from Got to Gone, CLOCK_MONOTONIC ns.
type Holding struct{ TID, Got, Gone int64 }

// Holdings are in order of time.
type Holdings []Holding

// StartPassing runs threads that hold the lock for hold µs.
func StartPassing(tb TB, dir string, threads, hold int) *Passing {
	tb.Helper()
	exe, err := Compile("passing.c", "-O1")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Passing{file: filepath.Join(dir, "holders")}
	cmd := exec.Command(exe, p.file, strconv.Itoa(threads), strconv.Itoa(hold))
	_, says := Talk(tb, cmd)
	if _, err := says.ReadString('\n'); err != nil {
		tb.Fatal(err)
	}
	p.PID = cmd.Process.Pid
	return p
}

// Holdings reads the log, without the open last entry.
func (p *Passing) Holdings() (out Holdings, err error) {
	data, err := os.ReadFile(p.file)
	if err != nil {
		return nil, err
	}
	word := func(at uint64) int64 { return int64(binary.LittleEndian.Uint64(data[at:])) }
	for i := range uint64(word(0)) {
		at := 16 + 24*i
		out = append(out, Holding{word(at), word(at + 8), word(at + 16)})
	}
	return out[:max(0, len(out)-1)], nil
}

// During returns the thread that held the lock throughout (0: none), and which may have held it.
func (h Holdings) During(from, to int64) (all int, can func(tid int) bool, ok bool) {
	i := sort.Search(len(h), func(i int) bool { return i+1 >= len(h) || h[i+1].Got > from })
	if i+2 >= len(h) {
		return 0, nil, false
	}
	if h[i].Got <= from && to <= h[i].Gone {
		all = int(h[i].TID)
	}
	end := i
	for end < len(h) && (end == 0 || h[end-1].Gone <= to) {
		end++
	}
	can = func(tid int) bool {
		return slices.ContainsFunc(h[i:end], func(e Holding) bool { return int(e.TID) == tid })
	}
	return all, can, true
}
