// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"encoding/binary"
	"strings"

	"prywalk/internal/base/protobuf"
)

func anyValue(v any) (m protobuf.Message) {
	switch v := v.(type) {
	case string:
		m.Bytes(1, []byte(valid(v)))
	case int64: // 0, too: a member of a oneof
		m.Key(3, protobuf.Varint)
		m = binary.AppendUvarint(m, uint64(v))
	}
	return m
}

// KeyValue returns a resource's attribute. value is a string or an int64.
func KeyValue(key string, value any) (pair protobuf.Message) {
	pair.Bytes(1, []byte(valid(key)))
	pair.Bytes(2, anyValue(value))
	return pair
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") } // protocol buffers require UTF-8
