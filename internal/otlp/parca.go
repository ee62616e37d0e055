// SPDX-License-Identifier: Apache-2.0

package otlp

import "strconv"

// edit changes the fields of a message that have these numbers, and copies the others.
type edit map[int]func(f field, out *Message) error

func (e edit) apply(m []byte) (out Message, err error) {
	err = fields(m, func(f field) error {
		if change := e[f.number]; change != nil {
			return change(f, &out)
		}
		out = append(out, f.raw...)
		return nil
	})
	return out, err
}

// within edits a field that is a message.
func within(e edit) func(field, *Message) error {
	return func(f field, out *Message) error {
		if f.wire != wireBytes {
			return errDamaged("a number in place of a message")
		}
		m, err := e.apply(f.body)
		out.Bytes(f.number, m)
		return err
	}
}

// ForParca returns an ExportProfilesServiceRequest for Parca 0.28. Parca takes the function before the one that a
// line refers to, as if the table had no zero entry (pkg/profile/encode.go, EncodeOtelLocation), and drops
// attributes that are not strings (pkg/normalizer/otel.go, addOtelAttributes). So each function is written twice
// in sequence and lines refer to the second: both readings give its name. Numbers become text.
func ForParca(message []byte) (Message, error) {
	functions := 0
	attribute := edit{2: within(edit{3: func(f field, out *Message) error { // AnyValue.int_value
		out.Bytes(1, strconv.AppendInt(nil, int64(f.value), 10))
		return nil
	}})}
	return edit{
		1: within(edit{1: within(edit{1: within(attribute)})}), // ResourceProfiles.resource.attributes
		2: within(edit{
			tableAttributes: within(attribute),
			tableFunctions: func(f field, out *Message) error {
				*out = append(*out, f.raw...)
				if functions > 0 {
					*out = append(*out, f.raw...)
				}
				functions++
				return nil
			},
			tableLocations: within(edit{3: within(edit{1: func(f field, out *Message) error { // Line.function_index
				out.Int(1, int64(2*f.value))
				return nil
			}})}),
		}),
	}.apply(message)
}
