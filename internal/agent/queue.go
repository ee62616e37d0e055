// SPDX-License-Identifier: Apache-2.0

package agent

import "slices"

const maxWaitingBytes = 8 << 20

// encoded is a message before compression, and what it has.
type encoded struct {
	body                []byte
	intervals, profiles int
}

// message is a waiting message.
type message struct {
	compressed          []byte
	size                int // before compression, bytes
	intervals, profiles int
}

// queue holds waiting messages in memory, the oldest first. Beyond maxWaitingBytes the oldest are dropped and counted.
// Not for concurrent use.
type queue struct {
	waiting []message
	size    int  // bytes, compressed
	sending bool // the first message is being sent, and is not dropped
	notices *notices
}

func (q *queue) append(e *encoded) {
	m := message{gzipCompress(e.body), len(e.body), e.intervals, e.profiles}
	q.waiting = append(q.waiting, m)
	q.size += len(m.compressed)
	kept := 0
	if q.sending {
		kept = 1
	}
	for q.size > maxWaitingBytes && len(q.waiting) > kept+1 {
		q.notices.queueFull(q.waiting[kept].intervals)
		q.drop(kept)
	}
}

func (q *queue) drop(i int) {
	q.size -= len(q.waiting[i].compressed)
	q.waiting = slices.Delete(q.waiting, i, i+1)
}

// take returns the oldest message. It stays in the queue until putBack or remove is called.
func (q *queue) take() (m message, ok bool) {
	if len(q.waiting) == 0 {
		return message{}, false
	}
	q.sending = true
	return q.waiting[0], true
}

func (q *queue) putBack() { q.sending = false }

func (q *queue) remove() {
	q.drop(0)
	q.sending = false
}
