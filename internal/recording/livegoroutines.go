// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"time"

	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/top"
)

// Goroutines are counted again so long after the last count, and after so many times of what that took: a program can
// have a hundred thousand of them.
const (
	countAgain = 2 * time.Second
	countRests = 50
)

// count counts the goroutines that wait in processes that nothing else uses meanwhile, and gives those that run Go.
func (l *live) count(procs []*code.Process) (pids []int) {
	var list []top.Goroutines
	for _, p := range procs[:min(len(procs), mostGoPrograms)] {
		if !p.Alive() {
			continue
		}
		if n, text := p.WaitingGoroutines(); n != nil || text != "" {
			list = append(list, top.Goroutines{PID: p.PID, WaitingGoroutines: n, Text: text})
			pids = append(pids, p.PID)
		}
	}
	l.waiting.Store(&list)
	return pids
}

// countOnTheWay counts them again and again while the sampling goes on. What they are read by belongs to one goroutine
// at a time, so that the processes are opened a second time. The function that it returns ends that.
func (l *live) countOnTheWay(pids []int) (stop func()) {
	if len(pids) == 0 {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		images := code.NewImageCache(0)
		var procs []*code.Process
		wait := countAgain
		for hung := error(nil); hung == nil; {
			select {
			case <-quit:
				closeAll(images, procs)
				return
			case <-time.After(wait):
			}
			began := time.Now()
			hung = look.Watched(func() {
				if procs == nil {
					procs = openAll(images, pids)
				}
				l.count(procs)
			})
			wait = max(countAgain, countRests*time.Since(began))
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// openAll opens the processes that still run.
func openAll(images *code.ImageCache, pids []int) []*code.Process {
	procs := []*code.Process{}
	for _, pid := range pids {
		if p, err := images.Open(pid); err == nil {
			procs = append(procs, p)
		}
	}
	return procs
}

// closeAll closes what was only read.
func closeAll(images *code.ImageCache, procs []*code.Process) {
	var err error
	for _, p := range procs {
		err = errors.Join(err, p.Close())
	}
	_ = errors.Join(err, images.Close())
}
