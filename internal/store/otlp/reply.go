// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"math"
	"time"

	"prywalk/internal/base/protobuf"
)

// Rejected reads an ExportProfilesServiceResponse: the number of rejected profiles, and why.
func Rejected(reply []byte) (profiles int64, why string, err error) {
	err = fields(reply, func(f protobuf.Field) error {
		if f.Number != 1 || f.Wire != protobuf.Bytes {
			return nil
		}
		return fields(f.Body, func(f protobuf.Field) error {
			switch {
			case f.Number == 1 && f.Wire == protobuf.Varint:
				profiles = max(int64(f.Value), 0)
			case f.Number == 2 && f.Wire == protobuf.Bytes:
				why = string(f.Body)
			}
			return nil
		})
	})
	return profiles, why, err
}

// retryInfo has the delay (google/rpc/error_details.proto).
const retryInfo = "google.rpc.RetryInfo"

// RetryDelay reads a google.rpc.Status: the delay, 0 if unspecified; ok: it has a RetryInfo.
func RetryDelay(status []byte) (after time.Duration, ok bool) {
	_ = fields(status, func(detail protobuf.Field) error { // a damaged status has none
		if detail.Number != 3 || detail.Wire != protobuf.Bytes {
			return nil
		}
		var kind string
		var info []byte
		err := fields(detail.Body, func(f protobuf.Field) error { // google.protobuf.Any
			switch {
			case f.Number == 1 && f.Wire == protobuf.Bytes:
				kind = string(f.Body[bytes.LastIndexByte(f.Body, '/')+1:])
			case f.Number == 2 && f.Wire == protobuf.Bytes:
				info = f.Body
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

func retryDelay(info []byte) time.Duration {
	var seconds, nanos uint64
	_ = fields(info, func(f protobuf.Field) error { // a damaged one has none
		if f.Number != 1 || f.Wire != protobuf.Bytes {
			return nil
		}
		return fields(f.Body, func(f protobuf.Field) error { // google.protobuf.Duration
			if f.Wire == protobuf.Varint && f.Value < math.MaxInt32 {
				switch f.Number {
				case 1:
					seconds = f.Value
				case 2:
					nanos = f.Value
				}
			}
			return nil
		})
	})
	return time.Duration(seconds)*time.Second + time.Duration(nanos)
}
