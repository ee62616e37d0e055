// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"math"
	"time"

	"prywalk/internal/base/protobuf"
)

// last returns the last field of each number.
func last(m []byte) (map[int]protobuf.Field, error) {
	out := map[int]protobuf.Field{}
	err := fields(m, func(f protobuf.Field) error {
		out[f.Number] = f
		return nil
	})
	return out, err
}

// Rejected reads an ExportProfilesServiceResponse: the number of rejected profiles, and why.
func Rejected(reply []byte) (profiles int64, why string, err error) {
	response, err := last(reply)
	if err != nil {
		return 0, "", err
	}
	partial, err := last(response[1].Body)
	if err != nil {
		return 0, "", err
	}
	return max(int64(partial[1].Value), 0), string(partial[2].Body), nil
}

// retryInfo has the delay (google/rpc/error_details.proto).
const retryInfo = "google.rpc.RetryInfo"

// RetryDelay reads a google.rpc.Status: the delay, 0 if unspecified, and whether it has a RetryInfo.
func RetryDelay(status []byte) (after time.Duration, ok bool) {
	_ = fields(status, func(detail protobuf.Field) error { // a damaged status has none
		if detail.Number != 3 {
			return nil
		}
		content, err := last(detail.Body) // google.protobuf.Any
		if kind := content[1].Body; err == nil && string(kind[bytes.LastIndexByte(kind, '/')+1:]) == retryInfo {
			after, ok = retryDelay(content[2].Body), true
		}
		return err
	})
	return after, ok
}

func retryDelay(info []byte) time.Duration {
	delay, _ := last(info) // a damaged one has none
	duration, _ := last(delay[1].Body)
	part := func(number int) time.Duration {
		if v := duration[number].Value; v < math.MaxInt32 {
			return time.Duration(v)
		}
		return 0
	}
	return part(1)*time.Second + part(2)
}
