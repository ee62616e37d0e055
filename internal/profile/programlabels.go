// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"maps"
	"slices"

	"prywalk/internal/languages"
)

// # Labels of the program
//
// Labels that a program gives itself (pprof.Do) keep their names, except those that prywalk uses: these get a prefix.

// GoroutineTask is the [Interval.Task] of goroutines.
const GoroutineTask = languages.GoroutineTask

// CoroutineTask is the [Interval.Task] of tasks of an event loop.
const CoroutineTask = languages.CoroutineTask

// ownLabels are the names of labels that prywalk gives.
var ownLabels = []string{
	LabelPID, LabelTID, LabelNSPID, LabelNSTID, LabelComm, LabelThread, LabelRole, LabelState, LabelWait, LabelWaitsFor,
	LabelOwner, LabelTask, LabelEnd,
}

const programLabel = "program."

// IsOwnLabel reports whether the label is prywalk's.
func IsOwnLabel(key string) bool { return slices.Contains(ownLabels, key) }

// LabelText is a canonical text of a program's labels, for [Interval.Labels]: names in order, lengths before names
// and values.
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

// EachLabel calls f for each label of such a text, by its name in recordings.
func EachLabel(text string, f func(key, value string)) {
	b := []byte(text)
	take := func() string {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			b = nil
			return ""
		}
		s := string(b[size : size+int(n)])
		b = b[size+int(n):]
		return s
	}
	for len(b) > 0 {
		key, value := take(), take()
		if IsOwnLabel(key) {
			key = programLabel + key
		}
		if key != "" {
			f(key, value)
		}
	}
}
