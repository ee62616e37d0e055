// SPDX-License-Identifier: Apache-2.0

package agent

import "errors"

// mostWaiting is the memory for waiting messages, in bytes.
const mostWaiting = 8 << 20

// message is a compressed message, and the number of its intervals.
type message struct {
	compressed []byte
	intervals  int
}

func newMessage(body []byte, intervals int) message { return message{zipped(body), intervals} }

// queue holds the waiting messages, the oldest first: those of the spool, then those in memory. Beyond the sizes the
// oldest are dropped and counted. Not for concurrent use.
type queue struct {
	spool   *spool // nil: messages wait in memory
	memory  []message
	size    int // of memory, bytes
	notices *notices
	taken   place
}

// place is where the message is that is being sent. It stays the first there, and is not dropped.
type place int

const (
	nowhere place = iota
	inMemory
	inSpool
)

// keptIn returns how many of the first messages at a place must not be dropped.
func (q *queue) keptIn(at place) int {
	if q.taken == at {
		return 1
	}
	return 0
}

// append adds a message. If the receiver is away, or older ones are in the spool, that takes it, unless older ones are
// in memory.
func (q *queue) append(m message, away bool) {
	if q.spool != nil && len(q.memory) == 0 && (away || len(q.spool.files) > 0) && q.toSpool(m) {
		return
	}
	q.memory = append(q.memory, m)
	q.size += len(m.compressed)
	for kept := q.keptIn(inMemory); q.size > mostWaiting && len(q.memory) > kept+1; {
		q.notices.full(q.memory[kept].intervals, "give a directory with --spool")
		q.drop(kept)
	}
}

func (q *queue) drop(i int) {
	q.size -= len(q.memory[i].compressed)
	copy(q.memory[1:i+1], q.memory[:i])
	q.memory[0] = message{}
	q.memory = q.memory[1:]
}

func (q *queue) toSpool(m message) bool {
	dropped, err := q.spool.put(m, q.keptIn(inSpool))
	if dropped > 0 {
		q.notices.full(dropped, "raise --spool-size")
	}
	q.notices.spoolWritten(q.spool, err)
	return err == nil
}

// take returns the oldest message that can be read, until keep, remove or replace is called. Unreadable files are tried
// again by later calls.
func (q *queue) take() (body []byte, intervals int, ok bool) {
	if q.spool != nil {
		for range len(q.spool.files) {
			f := q.spool.files[0]
			body, err := q.spool.first()
			if err == nil {
				q.taken = inSpool
				return body, f.intervals, true
			}
			if errors.Is(err, errDamagedFile) {
				q.notices.damaged(q.spool, &f, err)
				q.spool.remove(0)
			} else {
				q.notices.unreadable(q.spool, &f, err)
				q.spool.moveFirstToEnd()
			}
		}
	}
	if len(q.memory) == 0 {
		return nil, 0, false
	}
	q.taken = inMemory
	return uncompressed(&q.memory[0]), q.memory[0].intervals, true
}

func uncompressed(m *message) []byte {
	body, err := unzipped(m.compressed, mostMessage)
	if err != nil {
		panic(err) // compressed by this process
	}
	return body
}

// keep leaves the taken message in the queue.
func (q *queue) keep() { q.taken = nowhere }

// remove removes the taken message.
func (q *queue) remove() {
	if q.taken == inSpool {
		q.spool.remove(0)
	} else {
		q.drop(0)
	}
	q.taken = nowhere
}

// replace replaces the taken message by its parts. If the spool cannot take them, they are the first in memory.
func (q *queue) replace(parts []message) {
	if q.taken == inSpool {
		err := q.spool.replaceFirst(parts)
		q.notices.spoolWritten(q.spool, err)
		if err == nil {
			q.taken = nowhere
			return
		}
	}
	q.remove()
	q.memory = append(parts, q.memory...)
	for i := range parts {
		q.size += len(parts[i].compressed)
	}
}

// spill moves messages from memory to the spool. Precondition: none is taken.
func (q *queue) spill() {
	for q.spool != nil && len(q.memory) > 0 && q.toSpool(q.memory[0]) {
		q.drop(0)
	}
}

// counts returns the number of messages and their size in bytes.
func (q *queue) counts() (messages int, size int64) {
	messages, size = len(q.memory), int64(q.size)
	if q.spool != nil {
		messages, size = messages+len(q.spool.files), size+q.spool.size
	}
	return messages, size
}
