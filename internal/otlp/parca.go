// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"strconv"

	"prywalk/internal/protobuf"
)

// fieldEdits changes fields by number, and copies the others.
type fieldEdits map[int]func(f protobuf.Field, out *protobuf.Message) error

func (e fieldEdits) apply(m []byte) (out protobuf.Message, err error) {
	err = fields(m, func(f protobuf.Field) error {
		if change := e[f.Number]; change != nil {
			return change(f, &out)
		}
		out = append(out, f.Raw...)
		return nil
	})
	return out, err
}

func within(e fieldEdits) func(protobuf.Field, *protobuf.Message) error {
	return func(f protobuf.Field, out *protobuf.Message) error {
		if f.Wire != protobuf.Bytes {
			return errDamaged("a number in place of a message")
		}
		m, err := e.apply(f.Body)
		out.Bytes(f.Number, m)
		return err
	}
}

// ForParca returns an ExportProfilesServiceRequest for Parca 0.28. Parca takes the function before the one that a line
// refers to (pkg/profile/encode.go, EncodeOtelLocation), so each function is written twice, and lines refer to the
// second. It drops attributes that are no strings (pkg/normalizer/otel.go, addOtelAttributes), so numbers become text.
func ForParca(message []byte) (protobuf.Message, error) {
	functions := 0
	attribute := fieldEdits{2: within(fieldEdits{3: func(f protobuf.Field, out *protobuf.Message) error {
		out.Bytes(1, strconv.AppendInt(nil, int64(f.Value), 10))
		return nil
	}})}
	return fieldEdits{
		1: within(fieldEdits{1: within(fieldEdits{1: within(attribute)})}), // ResourceProfiles.resource.attributes
		2: within(fieldEdits{
			tableAttributes: within(attribute),
			tableFunctions: func(f protobuf.Field, out *protobuf.Message) error {
				*out = append(*out, f.Raw...)
				if functions > 0 {
					*out = append(*out, f.Raw...)
				}
				functions++
				return nil
			},
			tableLocations: within(fieldEdits{3: within(fieldEdits{1: func(f protobuf.Field, out *protobuf.Message) error {
				out.Int(1, int64(2*f.Value))
				return nil
			}})}),
		}),
	}.apply(message)
}
