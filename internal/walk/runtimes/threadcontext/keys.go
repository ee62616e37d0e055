// SPDX-License-Identifier: Apache-2.0

package threadcontext

import (
	"prywalk/internal/base/protobuf"
	"prywalk/internal/base/wire"
	"prywalk/internal/walk/managed"
)

const (
	contextHeader  = 32
	contextVersion = 2
	maxPayload     = 1 << 20 // bytes
	maxKeys        = 256     // a key index is a byte
	readTries      = 3
	keyMap         = "threadlocal.attribute_key_map"
)

// readKeys reads the names of the attributes from the process's context (OTEP 4719); it returns nil if it has none.
func readKeys(h managed.ContextHost) []string {
	start, _, ok := h.NamedMapping("/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]")
	if !ok {
		return nil
	}
	for range readTries {
		if payload, ok := readPayload(h, start); ok {
			return parseKeys(payload)
		}
	}
	return nil
}

// readPayload returns false if the payload was being written.
func readPayload(h managed.Host, start uint64) ([]byte, bool) {
	var head, again [contextHeader]byte
	if h.Read(start, head[:]) != len(head) || string(head[:8]) != "OTEL_CTX" {
		return nil, false
	}
	c := wire.Cursor{Bytes: head[:], Pos: 8}
	version, size, published, at := c.U32(), c.U32(), c.U64(), c.U64()
	if version != contextVersion || size > maxPayload || published == 0 {
		return nil, false
	}
	payload := make([]byte, size)
	if h.Read(at, payload) != len(payload) || h.Read(start, again[:]) != len(again) || again != head {
		return nil, false
	}
	return payload, true
}

// parseKeys returns the names in a message Resource, or in one whose first field that is (opentelemetry-proto:
// resource.proto, common.proto).
func parseKeys(payload []byte) (keys []string) {
	var search func(b []byte, depth int)
	search = func(b []byte, depth int) {
		eachField(b, func(_ uint64, part []byte) {
			if key, value := keyValue(part); key == keyMap {
				eachField(value, func(field uint64, list []byte) {
					if field != 5 { // array_value
						return
					}
					eachField(list, func(field uint64, element []byte) {
						if field == 1 && len(keys) < maxKeys {
							keys = append(keys, stringValue(element))
						}
					})
				})
			} else if depth == 0 {
				search(part, 1)
			}
		})
	}
	search(payload, 0)
	return keys
}

func keyValue(b []byte) (key string, value []byte) {
	eachField(b, func(field uint64, part []byte) {
		switch field {
		case 1:
			key = string(part)
		case 2:
			value = part
		}
	})
	return key, value
}

func stringValue(b []byte) (s string) {
	eachField(b, func(field uint64, part []byte) {
		if field == 1 {
			s = string(part)
		}
	})
	return s
}

// eachField calls f for each field of bytes, up to the first malformed one.
func eachField(message []byte, f func(field uint64, content []byte)) {
	for field, err := range protobuf.Fields(message) {
		if err != nil {
			break
		}
		if field.Wire == protobuf.Bytes {
			f(uint64(field.Number), field.Body)
		}
	}
}
