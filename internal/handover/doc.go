// SPDX-License-Identifier: Apache-2.0

// Package handover has what the tracer (package tracer) tells the accountant (package accountant), and the little that
// comes back.
//
// Messages go one way, as events in batches ([Event], [Ring]); nobody waits for an answer. What an event points to
// belongs to the accountant from then on, but for [Process] and [Thread]. They say who it is about. What they have is
// written before the first event about them.
//
// What comes back is one value each, that may be read at any time:
//   - what the next looks at a thread are to copy ([look.Needs]),
//   - and those at a process that runs another program ([Process.TakeExtra], [Process.Plans]);
//   - what the kernel's samples lack of a process ([Process.Lack]);
//   - how many bytes of copies wait ([look.Pool]);
//   - whether a checkpoint is being written, and how long the last one took ([Requests]);
//   - whether garbage is to be collected (package ownruntime).
package handover
