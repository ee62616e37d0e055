// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"prywalk/internal/procmem"
)

type threads struct {
	list []thread
	read int64 // CLOCK_MONOTONIC ns
}

type thread struct {
	at      uint64 // rb_thread_t
	pthread uint64
	tid     int // 0: unknown
}

const (
	mostRactors = 1 << 10
	mostThreads = 1 << 15
	readAgain   = 15e6 // ns, for an unknown thread
)

// readThreads reads all ractors' threads.
func (v *machine) readThreads() {
	t := &v.threads
	t.list, t.read = t.list[:0], procmem.Now()
	if v.vmThreads != 0 {
		v.readList(v.vm + uint64(v.vmThreads))
		return
	}
	head := v.vm + uint64(v.vmRactors)
	at := v.at(head)
	for n := 0; at != 0 && at != head && n < mostRactors; n++ {
		v.readList(at - uint64(v.ractorNode) + uint64(v.ractorThreads))
		at = v.at(at)
	}
}

// readList adds a list's threads.
func (v *machine) readList(head uint64) {
	t := &v.threads
	for at := v.at(head); at != 0 && at != head && len(t.list) < mostThreads; at = v.at(at) {
		if v.at(at+uint64(v.threadVM)) != v.vm {
			return
		}
		th := thread{at: at}
		native := v.at(at + uint64(v.threadNative))
		if v.nativeID == 0 {
			th.pthread = native
		} else if native != 0 {
			th.pthread = v.at(native + uint64(v.nativeID))
			th.tid = int(int32(v.at(native + uint64(v.nativeTID))))
		}
		if th.tid == 0 && th.pthread != 0 {
			th.tid = int(int32(v.at(th.pthread + pthreadTID)))
		}
		t.list = append(t.list, th)
	}
}

// pthreadTID is the thread ID in glibc's struct pthread (x86-64, nptl/descr.h). With another C library, 2.7 to 3.1
// have pthread_t only.
const pthreadTID = 720

func (v *machine) anchor(tid int, pthread uint64) (uint64, bool) {
	if th := v.findThread(tid, pthread); th != nil {
		return th.at, true
	}
	if procmem.Now()-v.threads.read < readAgain {
		return 0, false
	}
	v.readThreads()
	if th := v.findThread(tid, pthread); th != nil {
		return th.at, true
	}
	return 0, false
}

// findThread searches by pthread_t if known, else by thread ID.
func (v *machine) findThread(tid int, pthread uint64) *thread {
	for i := range v.threads.list {
		th := &v.threads.list[i]
		if pthread != 0 && th.pthread == pthread || pthread == 0 && th.tid == tid && tid != 0 {
			return th
		}
	}
	return nil
}
