package symbols

import (
	"errors"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/budget"
)

// jitMap is the perf map of one process, as far as it was read. Compilers append: what was read stays, unless there is
// another file or it has become shorter.
type jitMap struct {
	pm     *PerfMap
	memory *budget.Account
	file   os.FileInfo // which file it is, nil if that cannot be told
	size   int64       // of the file when it was looked at last
	read   int64       // how much of it was read
	whole  bool        // all that there was
	next   time.Time   // when it is to be looked at again
}

// A perf map that has grown is read on, but no more often than mapEvery, and so that
// reading takes at most one part in mapShare of the time, in stepShare while a first reading is not done.
const (
	mapEvery  = time.Second
	mapShare  = 20
	stepShare = 4
	// mapStep is how much of a map is read at a time while looks wait to be walked: some milliseconds. Most maps are
	// smaller.
	mapStep = 8 << 20
	// maxSteps is how many steps a whole map takes at most.
	maxSteps = DefaultPerfMapLimit/mapStep + 1
)

// ReadInSteps makes the namer read perf maps step by step where only the bounds of functions are asked for: who asks
// has looks to walk. Names still come from whole maps.
func (n *Namer) ReadInSteps() { n.inSteps = true }

// SetBetween gives a function that is called now and then while a perf map is read whole; nil: none.
func (n *Namer) SetBetween(f func()) { n.between = f }

// perfMap gives the perf map of a process, nil if it has none; whole says that all of it is needed.
func (n *Namer) perfMap(pid int, whole bool) *PerfMap {
	j := n.maps[pid]
	if j == nil {
		j = &jitMap{memory: n.memory.Account("the perf map of process " + strconv.Itoa(pid))}
		n.maps[pid] = j
	}
	began := time.Now()
	due := began.After(j.next)
	// Somebody may put another file there each time: then what there is has to do.
	for step := 0; step < maxSteps && (due || whole && !j.whole); step++ {
		f, size := n.mapFile(pid)
		j.readOn(f, size)
		j.next = j.due(began)
		due, began = false, time.Now()
		if whole && !j.whole && n.between != nil {
			n.between()
		}
	}
	return j.pm
}

// due says when to look again after a reading that began then.
func (j *jitMap) due(began time.Time) time.Time {
	took := time.Since(began)
	if j.whole {
		return began.Add(max(mapEvery, mapShare*took))
	}
	return began.Add(stepShare * took)
}

// readOn reads a step of what is new in the file. What was read stays when the process has
// ended and its files cannot be found any more.
func (j *jitMap) readOn(f io.ReadCloser, size int64) {
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
	end := min(size, DefaultPerfMapLimit)
	if j.pm == nil {
		j.pm = &PerfMap{memory: j.memory}
	}
	if j.whole = j.read >= end || j.pm.full; j.whole {
		return
	}
	if s, ok := f.(io.Seeker); ok {
		j.passHole(s, end)
		if _, err := s.Seek(j.read, io.SeekStart); err != nil {
			j.whole = true
			return
		}
	}
	limit := min(end-j.read, mapStep)
	got, err := j.pm.readFrom(f, limit)
	j.read += got
	j.whole = got < limit || j.read >= end || err != nil // what could be read is of use
	if j.whole || len(j.pm.entries) >= 2*j.pm.indexed {
		j.pm.index()
	}
}

// passHole passes over a part of the file that was never written: a claim of a size costs nothing, and is not read.
func (j *jitMap) passHole(f io.Seeker, end int64) {
	data, err := f.Seek(j.read, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) { // there are no more data (lseek(2))
		data = end
	} else if err != nil {
		return // a file system that does not know
	}
	if hole := min(data, end) - j.read; hole > 0 {
		j.pm.feedZeros(hole)
		j.read += hole
	}
}

// goesOn reports whether a file is the one of which a part was read, and may have more. One that cannot be read from
// the middle is read anew when its size has changed.
func (j *jitMap) goesOn(f io.ReadCloser, size int64) bool {
	if j.read == 0 || size == j.size && j.whole {
		return true
	}
	now := infoOf(f)
	_, seeks := f.(io.Seeker)
	return seeks && size >= j.read && (j.file == nil || now == nil || os.SameFile(j.file, now))
}

// startOver forgets what was read.
func (j *jitMap) startOver() {
	j.memory.Close()
	*j = jitMap{memory: j.memory}
}

// infoOf tells which file it is, nil if that cannot be told.
func infoOf(f io.ReadCloser) os.FileInfo {
	if s, ok := f.(interface{ Stat() (os.FileInfo, error) }); ok {
		if info, err := s.Stat(); err == nil {
			return info
		}
	}
	return nil
}
