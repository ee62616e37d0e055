// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"encoding/binary"
	"path"
	"regexp"
	"time"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// ThreadPointers has the thread pointers (fs base, TPIDR_EL0) of a process by thread ID, for threads that were not
// stopped; the zero value has none. glibc (2.34 on) exports to debuggers the list heads in _rtld_global and descriptors
// of its structures (nptl_db/structs.def, nptl_db/db_info.c; list_t in include/list_t.h).
//
//	_rtld_global            struct pthread
//	_dl_stack_used ───────► list next, prev ──► the next one's list
//	_dl_stack_user          tid
type ThreadPointers struct {
	heads   [2]uint64 // of the lists; 0 means unknown
	list    int64
	tid     int64
	pointer uint64         // to the thread pointer
	byTID   map[int]uint64 // struct pthread
	next    int64          // no reading before, in nanoseconds of CLOCK_MONOTONIC
}

const (
	symRtld = "_rtld_global"
	symUsed = "_thread_db_rtld_global__dl_stack_used"
	symUser = "_thread_db_rtld_global__dl_stack_user"
	symList = "_thread_db_pthread_list"
	symTID  = "_thread_db_pthread_tid"
	symSize = "_thread_db_sizeof_pthread"
)

var hasThreadLists = regexp.MustCompile(`^(libc|ld)([-.][-.\w]*)?\.so(\.\d+)?$`)

const (
	maxListedThreads = 1 << 15                      // of a list
	maxPthread       = 64 << 10                     // bytes
	maxListSpan      = 256                          // bytes with its list and tid
	readAgain        = int64(15 * time.Millisecond) // between readings
	shareOfTime      = 50                           // least ratio of pause and reading
)

// Find finds the lists; without them no thread is known.
func (t *ThreadPointers) Find(h Host) {
	at := map[string]uint64{}
	for _, m := range h.Modules() {
		if m.Generated || !hasThreadLists.MatchString(path.Base(m.Name)) {
			continue
		}
		for _, s := range h.OwnSymbols(m, symRtld, symUsed, symUser, symList, symTID, symSize) {
			at[s.Name] = s.Addr
		}
	}
	var offsets [4]int64
	for i, name := range [...]string{symUsed, symUser, symList, symTID} {
		var b [12]byte // bits, number of elements, offset
		if at[name] == 0 || h.Read(at[name], b[:]) != len(b) {
			return
		}
		offsets[i] = int64(binary.LittleEndian.Uint32(b[8:]))
	}
	used, user, list, tid := offsets[0], offsets[1], offsets[2], offsets[3]
	var size [4]byte
	if at[symRtld] == 0 || list > maxPthread || tid > maxPthread || max(list+16, tid+4)-min(list, tid) > maxListSpan ||
		at[symSize] == 0 || h.Read(at[symSize], size[:]) != len(size) {
		return
	}
	t.list, t.tid = list, tid
	if h.Arch() == frames.ARM64 { // TLS_PRE_TCB_SIZE, sysdeps/aarch64/nptl/tls.h
		t.pointer = uint64(binary.LittleEndian.Uint32(size[:]))
	}
	t.heads = [2]uint64{at[symRtld] + uint64(used), at[symRtld] + uint64(user)}
}

// PointerOf returns a thread's pointer; tid is in the process's pid namespace. The lists are read at most each 15 ms.
func (t *ThreadPointers) PointerOf(h Host, tid int) (uint64, bool) {
	if t.heads[0] == 0 || tid <= 0 {
		return 0, false
	}
	if p, ok := t.byTID[tid]; ok {
		var b [4]byte // 0 when the thread has ended (CLONE_CHILD_CLEARTID)
		if h.Read(p+uint64(t.tid), b[:]) == len(b) && int(binary.LittleEndian.Uint32(b[:])) == tid {
			return p + t.pointer, true
		}
	}
	now := procmem.Now()
	if now < t.next {
		return 0, false
	}
	t.readLists(h)
	end := procmem.Now()
	t.next = end + max(readAgain, shareOfTime*(end-now))
	p, ok := t.byTID[tid]
	return p + t.pointer, ok
}

func (t *ThreadPointers) readLists(h Host) {
	t.byTID = map[int]uint64{}
	from := min(t.list, t.tid)
	var buf [maxListSpan]byte
	b := buf[:max(t.list+16, t.tid+4)-from]
	for _, head := range t.heads {
		var first [8]byte
		if h.Read(head, first[:]) != len(first) {
			continue
		}
		last := head
		at := binary.LittleEndian.Uint64(first[:])
		for n := 0; at != head && n < maxListedThreads; n++ {
			pthread := at - uint64(t.list)
			if h.Read(pthread+uint64(from), b) != len(b) {
				break
			}
			links := b[t.list-from:]
			if binary.LittleEndian.Uint64(links[8:]) != last {
				break
			}
			t.byTID[int(int32(binary.LittleEndian.Uint32(b[t.tid-from:])))] = pthread
			last, at = at, binary.LittleEndian.Uint64(links)
		}
	}
	delete(t.byTID, 0) // threads that begin or end
}
