// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"slices"
)

// asyncioTasks lists the tasks without those that a fork copied from the parent: their loop runs in a thread of the
// parent only, and never goes on.
func (t *taskReader) asyncioTasks() (list []uint64) {
	if t.taskType == 0 {
		return nil
	}
	if t.offsets.Task.Node == 0 {
		list = t.tasksOfSets()
	} else {
		list = t.tasksOfLists()
	}
	if t.greenlets.base != 0 { // gevent gives loops the greenlet in place of the thread
		return list
	}
	byLoop := map[uint64]uint64{}
	isCopy := func(task uint64) bool {
		loop := t.r.read64(task + futureLoop + t.r.headExtra)
		id, known := byLoop[loop]
		if !known {
			id = t.loopThread(loop)
			byLoop[loop] = id
		}
		return id != 0 && !slices.ContainsFunc(t.threads.list, func(th thread) bool { return th.id == id })
	}
	// a thread may have begun since its list was read
	if slices.ContainsFunc(list, isCopy) && t.threads.readThreads() {
		list = slices.DeleteFunc(list, isCopy)
	}
	return list
}

// loopThread returns pthread_self of the thread that runs an event loop, 0 if none does or it is not known: _thread_id
// of asyncio's BaseEventLoop.
func (t *taskReader) loopThread(loop uint64) uint64 {
	id := t.o.attribute(loop, "_thread_id")
	if !t.o.is(id, t.r.longType) {
		return 0
	}
	digits := t.r.read64(id + longDigits + t.r.headExtra) // an address has two
	return digits&(1<<32-1) | digits>>32<<longDigitBits
}

func (t *taskReader) tasksOfLists() (list []uint64) {
	r := t.r
	for i := range t.threads.list {
		list = t.appendList(list, t.threads.list[i].at+t.offsets.Thread.Head)
	}
	interp := r.read64(r.at + uint64(r.runtimeInterps))
	for n := 0; interp != 0 && n < maxInterps; n++ {
		list = t.appendList(list, interp+t.offsets.Interpreter.Head)
		interp = r.read64(interp + uint64(r.interpNext))
	}
	return list
}

func (t *taskReader) appendList(list []uint64, head uint64) []uint64 {
	for at := t.r.read64(head); at != 0 && at != head && len(list) < maxListed; at = t.r.read64(at) {
		task := at - t.offsets.Task.Node
		if !t.isTask(task) { // the list has changed
			break
		}
		list = append(list, task)
	}
	return list
}

func (t *taskReader) tasksOfSets() (list []uint64) {
	module := t.o.get(t.o.entries(t.threads.modules()), "asyncio.tasks")
	if !t.o.is(module, t.r.moduleType) {
		return nil
	}
	names := t.o.entries(t.r.read64(module + moduleDict + t.r.headExtra))
	for _, name := range []string{"_all_tasks", "_scheduled_tasks"} {
		if set := t.o.get(names, name); set != 0 {
			for _, ref := range t.members(t.o.attribute(set, "data")) {
				if task := t.r.read64(ref + weakrefObject + t.r.headExtra); t.isTask(task) {
					list = append(list, task)
				}
			}
		}
	}
	return list
}

// members may return stale ones.
func (t *taskReader) members(set uint64) (list []uint64) {
	mask := t.r.read64(set + setMask + t.r.headExtra)
	if set == 0 || mask >= maxSet {
		return nil
	}
	t.left -= int(mask) / 16
	b := make([]byte, 16*(mask+1))
	n := t.r.host.Read(t.r.read64(set+setTable+t.r.headExtra), b)
	for b = b[:n]; len(b) >= 16; b = b[16:] {
		if key := binary.LittleEndian.Uint64(b); key != 0 && len(list) < maxListed {
			list = append(list, key)
		}
	}
	return list
}

// isTask accepts derived types.
func (t *taskReader) isTask(at uint64) bool {
	if at == 0 {
		return false
	}
	return t.derives(t.r.read64(at+objectType+t.r.headExtra), t.taskType)
}

func (t *taskReader) derives(typ, base uint64) bool {
	for n := 0; typ != 0 && n < maxBases; n++ {
		if typ == base {
			return true
		}
		typ = t.r.read64(typ + typeBaseClass + t.r.headExtra)
	}
	return false
}
