// SPDX-License-Identifier: Apache-2.0

package perfmap

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/budget"
)

// Growing is the perf map of one process, as far as it was read. Compilers append: what was read stays, unless there is
// another file or it has become shorter.
type Growing struct {
	m      *Map
	memory *budget.Account
	file   os.FileInfo // identity of the file, nil if unknown
	size   int64       // of the file when it was looked at last
	read   int64       // how much of it was read
	whole  bool        // all that there was
	next   time.Time   // when it is to be looked at again
}

// A perf map that has grown is read on, but no more often than mapEvery. Reading takes at most one part in mapShare
// of the time, in stepShare while a first reading is not done.
const (
	mapEvery  = time.Second
	mapShare  = 20
	stepShare = 4
	// Step is how much of a map is read at a time while samples wait to be walked: some milliseconds. Most maps are
	// smaller.
	Step = 8 << 20
	// maxSteps is how many steps a whole map takes at most.
	maxSteps = DefaultLimit/Step + 1
)

// NewGrowing prepares for reading a perf map, with memory of an account.
func NewGrowing(memory *budget.Account) *Growing { return &Growing{memory: memory} }

// Map gives the perf map, read on where that is due; nil if there is none. open opens the file and gives its size.
// whole says that all of it is needed; between, which may be nil, is then called between steps.
func (j *Growing) Map(open func() (io.ReadCloser, int64), whole bool, between func()) *Map {
	began := time.Now()
	due := began.After(j.next)
	// Somebody may put another file there each time: then what there is has to do.
	for step := 0; step < maxSteps && (due || whole && !j.whole); step++ {
		f, size := open()
		j.readOn(f, size)
		j.next = j.due(began)
		due, began = false, time.Now()
		if whole && !j.whole && between != nil {
			between()
		}
	}
	return j.m
}

// Again lets the map be read on at the next question, however short ago it was read.
func (j *Growing) Again() { j.next = time.Time{} }

// Whole reports whether all was read that there was.
func (j *Growing) Whole() bool { return j.whole }

// Bytes gives how many bytes were read, those included that were never written.
func (j *Growing) Bytes() int64 { return j.read }

// Used gives the memory that it takes, in bytes.
func (j *Growing) Used() int64 { return j.memory.Used() }

// Close gives the memory back.
func (j *Growing) Close() { j.memory.Close() }

// due says when to read again after a reading that began then.
func (j *Growing) due(began time.Time) time.Time {
	took := time.Since(began)
	if j.whole {
		return began.Add(max(mapEvery, mapShare*took))
	}
	return began.Add(stepShare * took)
}

// readOn reads a step of what is new in the file. What was read stays when the process has
// ended and its files cannot be found any more.
func (j *Growing) readOn(f io.ReadCloser, size int64) {
	if f == nil {
		j.whole = true
		return
	}
	defer f.Close()
	if !j.goesOn(f, size) {
		j.startOver()
		j.file = infoOf(f)
	}
	j.size = size
	end := min(size, DefaultLimit)
	if j.m == nil {
		j.m = &Map{memory: j.memory}
	}
	if j.whole = j.read >= end || j.m.full; j.whole {
		return
	}
	if s, ok := f.(io.Seeker); ok {
		j.passHole(s, end)
		if _, err := s.Seek(j.read, io.SeekStart); err != nil {
			j.whole = true
			return
		}
	}
	limit := min(end-j.read, Step)
	got, err := j.m.readFrom(f, limit)
	j.read += got
	j.whole = got < limit || j.read >= end || err != nil // what could be read is of use
	if j.whole || len(j.m.entries) >= 2*j.m.indexed {
		j.m.index()
	}
}

// passHole passes over a part of the file that was never written: a claim of a size costs nothing, and is not read.
func (j *Growing) passHole(f io.Seeker, end int64) {
	data, err := f.Seek(j.read, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) { // there are no more data (lseek(2))
		data = end
	} else if err != nil {
		return // a file system that does not know
	}
	if hole := min(data, end) - j.read; hole > 0 {
		j.m.feedZeros(hole)
		j.read += hole
	}
}

// goesOn reports whether a file is the one of which a part was read, and may have more. One that cannot be read from
// the middle is read anew when its size has changed.
func (j *Growing) goesOn(f io.ReadCloser, size int64) bool {
	if j.read == 0 || size == j.size && j.whole {
		return true
	}
	now := infoOf(f)
	_, seeks := f.(io.Seeker)
	return seeks && size >= j.read && (j.file == nil || now == nil || os.SameFile(j.file, now))
}

// startOver forgets what was read.
func (j *Growing) startOver() {
	j.memory.Close()
	*j = Growing{memory: j.memory}
}

// infoOf gives the identity of the file, nil if unknown.
func infoOf(f io.ReadCloser) os.FileInfo {
	if s, ok := f.(interface{ Stat() (os.FileInfo, error) }); ok {
		if info, err := s.Stat(); err == nil {
			return info
		}
	}
	return nil
}
