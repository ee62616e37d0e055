// SPDX-License-Identifier: Apache-2.0

package sampler

// Checkpointing lets the aggregator handle samples while a checkpoint is written: the names of a large file take
// seconds to read, and a sample that waits so long is walked when its process has ended. Its methods are for the
// aggregator's goroutine.
type Checkpointing struct{ sampler *Sampler }

// Yield handles the samples that wait.
func (c Checkpointing) Yield() { c.sampler.handleQueued() }

// InBackground runs work on another goroutine, and handles meanwhile what arrives. here runs a function on the
// aggregator's goroutine, and returns after it. After a hang or a panic InBackground returns before work does, and here
// runs nothing.
func (c Checkpointing) InBackground(work func(here func(func()))) {
	done, gone, calls := make(chan struct{}), make(chan struct{}), make(chan func())
	defer close(gone)
	go func() {
		defer close(done)
		defer c.sampler.common.Failure.Guard(nil)
		work(func(f func()) {
			ran := make(chan struct{})
			select {
			case <-gone:
			case calls <- func() { defer close(ran); f() }:
				<-ran
			}
		})
	}()
	c.sampler.handleArrivals(calls, done)
}
