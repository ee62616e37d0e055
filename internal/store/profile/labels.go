// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/base/wire"
	"prywalk/internal/host/container"
)

func (l *labelSet) numbers() [5]*int {
	return [...]*int{&l.PID, &l.TID, &l.InnerPID, &l.InnerTID, &l.Owner}
}

// texts begins with those of textLabels: a new label comes before Labels.
func (l *labelSet) texts() [9]*string {
	return [...]*string{&l.Comm, &l.Thread, &l.Role, &l.State, &l.Wait, &l.WaitsFor, &l.Task, &l.Labels, &l.Container}
}

func (l *labelSet) appendTo(b []byte) []byte {
	for _, n := range l.numbers() {
		b = binary.AppendVarint(b, int64(*n))
	}
	for _, s := range l.texts() {
		b = append(binary.AppendUvarint(b, uint64(len(*s))), *s...)
	}
	return b
}

// takeLabels is the inverse of appendTo, and removes the labels from b. The journal is trusted.
func takeLabels(b *[]byte) *labelSet {
	var l labelSet
	for _, n := range l.numbers() {
		*n = int(takeVarint(b))
	}
	for _, to := range l.texts() {
		n := takeUvarint(b)
		*to, *b = string((*b)[:n]), (*b)[n:]
	}
	return &l
}

// Names of labels.
const (
	// LabelPID to labelNSTID are numbers. Time of no single thread has no LabelTID.
	LabelPID = "pid"
	LabelTID = "tid"
	// labelNSPID and labelNSTID are the IDs in the process's pid namespace, if they differ.
	labelNSPID  = "ns_pid"
	labelNSTID  = "ns_tid"
	LabelComm   = "comm"
	LabelThread = "thread"
	LabelRole   = "role"
	LabelState  = "state"
	LabelWait   = "wait"
	// The object waited for, and its owner's tid at the sleep's first sample, [OwnerNoneText] or [OwnerParentText].
	LabelWaitsFor = "waits_for"
	LabelOwner    = "owner"
	// LabelTask is "goroutine", "asyncio task" or "virtual thread" in a sample without a thread.
	LabelTask = "task"
	// LabelTaskName is among [Interval.Labels] of an asyncio task.
	LabelTaskName = "task name"
	// LabelAwaits is the name of the only task that an asyncio task awaits.
	LabelAwaits = "awaits task"
	// LabelAwaitsLock and LabelHolds are among [Interval.Labels] of a waiting goroutine. They have the address of the lock
	// that it waits for, and the addresses of the locks that it likely holds, separated by blanks.
	LabelAwaitsLock = "awaits lock"
	LabelHolds      = "likely holds"
	// LabelTaskStack is among [Interval.Labels] of a thread: the address of the stack of the goroutine that it runs. No
	// two threads have the same one at a time. A goroutine gets another stack when its stack grows, and a later goroutine
	// may get the stack of one that has ended.
	LabelTaskStack = "goroutine stack"
	// MaxHolds is the most addresses in LabelHolds.
	MaxHolds = 16
	// LabelTrace and LabelSpan are among [Interval.Labels]: the IDs, in hexadecimal (W3C Trace Context), of the request on
	// which the thread works.
	LabelTrace = "trace_id"
	LabelSpan  = "span_id"
	// LabelEnd is the end of the interval, in nanoseconds of Unix time.
	LabelEnd = "end_timestamp_ns"
)

// NoOwner is the owner of a free lock, ParentOwner that of a lock that a thread of the parent process took before the
// fork, with their texts.
const (
	NoOwner         = -1
	OwnerNoneText   = "nobody"
	ParentOwner     = -2
	OwnerParentText = "parent"
)

// OwnerText returns an [Interval]'s Owner as text, or "" if it is unknown.
func OwnerText(owner int) string {
	switch owner {
	case 0:
		return ""
	case NoOwner:
		return OwnerNoneText
	case ParentOwner:
		return OwnerParentText
	}
	return strconv.Itoa(owner)
}

// Names of what [labelSet.numbers] and [labelSet.texts] return, in their order. The last two texts have several labels,
// or another source.
var (
	numberLabels = [...]string{LabelPID, LabelTID, labelNSPID, labelNSTID, LabelOwner}
	textLabels   = [...]string{LabelComm, LabelThread, LabelRole, LabelState, LabelWait, LabelWaitsFor, LabelTask}
)

const programLabel = "program."

// IsOwnLabel reports whether prywalk sets the label. A program's label (pprof.Do) of such a name gets a prefix.
func IsOwnLabel(key string) bool {
	return key == LabelEnd || slices.Contains(numberLabels[:], key) || slices.Contains(textLabels[:], key)
}

// LabelText encodes a program's labels for [Interval.Labels]: sorted, each name and value after its length.
func LabelText(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		for _, s := range []string{key, labels[key]} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	return string(b)
}

// IsContainerLabel reports whether a label names the process's container or pod.
func IsContainerLabel(key string) bool { return slices.Contains(container.Keys[:], key) }

// IsChainLabel reports whether a label has addresses of a goroutine's locks or stack, which are for chains only.
func IsChainLabel(key string) bool { return slices.Contains(chainLabels[:], key) }

var chainLabels = [...]string{LabelAwaitsLock, LabelHolds, LabelTaskStack}

// WithoutChainLabels removes the labels of [IsChainLabel] from a [LabelText].
func WithoutChainLabels(text string) string {
	if !slices.ContainsFunc(chainLabels[:], func(key string) bool { return strings.Contains(text, key) }) {
		return text
	}
	left := map[string]string{}
	eachPair(text, func(key, value string) {
		if !IsChainLabel(key) {
			left[key] = value
		}
	})
	return LabelText(left)
}

// eachLabel yields a program's labels.
func eachLabel(text string, f func(key, value string)) {
	eachPair(text, func(key, value string) {
		if IsOwnLabel(key) || IsContainerLabel(key) {
			key = programLabel + key
		}
		if key != "" {
			f(key, value)
		}
	})
}

func eachPair(text string, f func(key, value string)) {
	for c := (wire.Cursor{Bytes: []byte(text)}); !c.Done(); {
		key, value := c.Block(), c.Block()
		f(string(key), string(value))
	}
}
