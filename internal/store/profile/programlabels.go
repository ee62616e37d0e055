// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"maps"
	"slices"

	"prywalk/internal/host/container"
)

// ownLabels are prywalk's labels. A program's label (pprof.Do) of such a name gets a prefix.
var ownLabels = []string{
	LabelPID, LabelTID, labelNSPID, labelNSTID, LabelComm, LabelThread, LabelRole, LabelState, LabelWait, LabelWaitsFor,
	LabelOwner, LabelTask, LabelEnd,
}

const programLabel = "program."

// IsOwnLabel reports whether prywalk sets the label.
func IsOwnLabel(key string) bool { return slices.Contains(ownLabels, key) }

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
		f(key, value)
	}
}
