// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"slices"
)

const maxWaitingBytes = 8 << 20

type message struct {
	compressed []byte
	intervals  int
}

func newMessage(body []byte, intervals int) message { return message{gzipCompress(body), intervals} }

// queue holds waiting messages, the oldest first: the spool's, then those in memory. Beyond a bound the oldest are
// dropped and counted. Not for concurrent use.
type queue struct {
	spool     *spool // nil: memory only
	memory    []message
	size      int // of memory, bytes
	notices   *notices
	takenFrom queuePlace
}

// queuePlace is the place of the message being sent, the first there, which is not dropped.
type queuePlace int

const (
	nowhere queuePlace = iota
	inMemory
	inSpool
)

func (q *queue) inFlightAt(at queuePlace) int {
	if q.takenFrom == at {
		return 1
	}
	return 0
}

// append uses the spool if the receiver is away, the spool has older messages, or memory is full.
func (q *queue) append(m message, unreachable bool) {
	q.memory = append(q.memory, m)
	q.size += len(m.compressed)
	step := "give a directory with --spool"
	if q.spool != nil {
		step = "see the message about --spool"
		if unreachable || len(q.spool.files) > 0 || q.size > maxWaitingBytes {
			q.spill()
		}
	}
	for kept := q.inFlightAt(inMemory); q.size > maxWaitingBytes && len(q.memory) > kept+1; {
		q.notices.queueFull(q.memory[kept].intervals, step)
		q.drop(kept)
	}
}

func (q *queue) drop(i int) {
	q.size -= len(q.memory[i].compressed)
	q.memory = slices.Delete(q.memory, i, i+1)
}

func (q *queue) toSpool(m message) bool {
	dropped, err := q.spool.put(m, q.inFlightAt(inSpool))
	if dropped > 0 {
		q.notices.queueFull(dropped, "raise --spool-size")
	}
	q.notices.spoolWritten(q.spool, err)
	return err == nil
}

// take returns the oldest readable message. It stays in the queue until putBack, remove or replace is called.
// Unreadable files are tried again later.
func (q *queue) take() (body []byte, intervals int, ok bool) {
	if q.spool != nil {
		for range len(q.spool.files) {
			f := q.spool.files[0]
			body, err := q.spool.first()
			if err == nil {
				q.takenFrom = inSpool
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
	q.takenFrom = inMemory
	return uncompressed(&q.memory[0]), q.memory[0].intervals, true
}

func uncompressed(m *message) []byte {
	body, err := gzipDecompress(m.compressed, maxMessage)
	if err != nil {
		panic(err) // compressed by this process
	}
	return body
}

func (q *queue) putBack() { q.takenFrom = nowhere }

func (q *queue) remove() {
	if q.takenFrom == inSpool {
		q.spool.remove(0)
	} else {
		q.drop(0)
	}
	q.takenFrom = nowhere
}

// replace replaces the taken message by its parts, first in memory if the spool cannot take them. Precondition: a
// message is taken.
func (q *queue) replace(parts []message) {
	if q.takenFrom == inSpool {
		err := q.spool.replaceFirst(parts)
		q.notices.spoolWritten(q.spool, err)
		if err == nil {
			q.takenFrom = nowhere
			return
		}
	}
	q.remove()
	q.memory = append(parts, q.memory...)
	for i := range parts {
		q.size += len(parts[i].compressed)
	}
}

// spill moves memory to the spool, and again after an error. A message of memory that is being sent must remain the
// first: unless the spool is empty, nothing is moved.
func (q *queue) spill() {
	if q.spool == nil || q.takenFrom == inMemory && len(q.spool.files) > 0 {
		return
	}
	for len(q.memory) > 0 && q.toSpool(q.memory[0]) {
		q.drop(0)
		if q.takenFrom == inMemory {
			q.takenFrom = inSpool
		}
	}
}

func (q *queue) counts() (messages int, size int64) {
	messages, size = len(q.memory), int64(q.size)
	if q.spool != nil {
		messages, size = messages+len(q.spool.files), size+q.spool.size
	}
	return messages, size
}
