// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

func (r *Runtime) taskReader() *taskReader {
	t := &taskReader{r: r.interpreter, o: r.objects(), threads: r.threads, codes: &r.codes}
	t.threads.readThreads()
	asyncio, greenlets := t.find(), t.findGreenlets()
	if !asyncio && !greenlets {
		return nil
	}
	if !asyncio {
		t.taskType = 0
	}
	for i := range r.threads.list {
		if id := int(r.threads.list[i].native); id != 0 && !slices.Contains(t.tids, id) {
			t.tids = append(t.tids, id)
		}
	}
	return t
}

func (r *Runtime) begin(t *taskReader, w managed.Watch) {
	t.watch = w
	r.codes.Begin(&managed.Sample{Mem: &frames.Snapshot{}, Live: t})
}

// TaskPlaces implements [managed.Threads].
func (r *Runtime) TaskPlaces() []uint64 {
	if r.followed = r.taskReader(); r.followed == nil {
		return nil
	}
	r.begin(r.followed, nil)
	greenlets := r.listed.Places(func() ([]uint64, bool) { return r.followed.greenletList(recordedTries) })
	return append(r.followed.asyncioTasks(), greenlets...)
}

// TasksAt implements [managed.Threads].
func (r *Runtime) TasksAt(places []uint64, w managed.Watch, yield func(place uint64, t managed.Task, ok bool)) {
	for _, place := range places {
		if r.followed == nil {
			yield(place, managed.Task{}, true)
			continue
		}
		r.begin(r.followed, w)
		task, status := r.followed.read(place)
		managed.YieldTask(place, task, status, yield)
	}
}
