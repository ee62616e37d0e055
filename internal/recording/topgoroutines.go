// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"time"

	"prywalk/internal/goroutinecount"
	"prywalk/internal/loadedcode"
	"prywalk/internal/selfhang"
	"prywalk/internal/top"
)

// Counts take at most 1/countShare of the time.
const (
	minCountPause = 2 * time.Second
	countShare    = 50
)

// storeGoroutineCounts returns the processes with Go. Precondition: no other goroutine uses the processes.
func (t *topRun) storeGoroutineCounts(procs []*loadedcode.Process) (pids []int) {
	var list []top.Goroutines
	for _, p := range procs[:min(len(procs), maxGoPrograms)] {
		if !p.Alive() {
			continue
		}
		shown := goroutinecount.NotShown
		if t.samplerOpts.Tasks {
			shown = goroutinecount.InTable
		}
		n, text := goroutinecount.Of(p.Runtimes(), p.PID, shown)
		if n != nil || text != "" {
			list = append(list, top.Goroutines{PID: p.PID, WaitingGoroutines: n, Text: text})
			pids = append(pids, p.PID)
		}
	}
	t.goroutineCounts.Store(&list)
	return pids
}

// countInBackground opens the processes again: a Process belongs to one goroutine.
func (t *topRun) countInBackground(pids []int) (stop func()) {
	if len(pids) == 0 {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		images := loadedcode.NewImageCache(0)
		var procs []*loadedcode.Process
		wait := minCountPause
		for hung := error(nil); hung == nil; {
			select {
			case <-quit:
				closeAll(images, procs)
				return
			case <-time.After(wait):
			}
			began := time.Now()
			hung = selfhang.Watched(func() {
				if procs == nil {
					procs = openAll(images, pids)
				}
				t.storeGoroutineCounts(procs)
			})
			wait = max(minCountPause, countShare*time.Since(began))
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

func closeAll(images *loadedcode.ImageCache, procs []*loadedcode.Process) {
	for _, p := range procs {
		_ = p.Close()
	}
	_ = images.Close()
}
