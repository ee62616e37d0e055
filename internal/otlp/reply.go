// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"math"
	"time"
)

// Rejected reads an ExportProfilesServiceResponse: how many profiles the receiver rejected, and why.
func Rejected(reply []byte) (profiles int64, why string, err error) {
	err = fields(reply, func(f field) error {
		if f.number != 1 || f.wire != wireBytes {
			return nil
		}
		return fields(f.body, func(f field) error {
			switch {
			case f.number == 1 && f.wire == wireVarint:
				profiles = max(int64(f.value), 0)
			case f.number == 2 && f.wire == wireBytes:
				why = string(f.body)
			}
			return nil
		})
	})
	return profiles, why, err
}

// retryInfo is the type of the detail with the delay (google/rpc/error_details.proto).
const retryInfo = "google.rpc.RetryInfo"

// RetryDelay returns the delay of the RetryInfo of a google.rpc.Status, 0 if unspecified; ok: it has a RetryInfo.
func RetryDelay(status []byte) (after time.Duration, ok bool) {
	_ = fields(status, func(detail field) error { // a damaged status has none
		if detail.number != 3 || detail.wire != wireBytes {
			return nil
		}
		var kind string
		var info []byte
		err := fields(detail.body, func(f field) error { // google.protobuf.Any
			switch {
			case f.number == 1 && f.wire == wireBytes:
				kind = string(f.body[bytes.LastIndexByte(f.body, '/')+1:])
			case f.number == 2 && f.wire == wireBytes:
				info = f.body
			}
			return nil
		})
		if err == nil && kind == retryInfo {
			after, ok = retryDelay(info), true
		}
		return err
	})
	return after, ok
}

func retryDelay(info []byte) (after time.Duration) {
	_ = fields(info, func(f field) error { // a damaged one has none
		if f.number != 1 || f.wire != wireBytes {
			return nil
		}
		return fields(f.body, func(f field) error { // google.protobuf.Duration
			if f.wire == wireVarint && f.value < math.MaxInt32 {
				switch f.number {
				case 1:
					after += time.Duration(f.value) * time.Second
				case 2:
					after += time.Duration(f.value)
				}
			}
			return nil
		})
	})
	return after
}
