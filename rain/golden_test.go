package rain_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// The values in this file were computed twice: by this package, and from the words of its comments by a
// program in another language. They may never change: campaigns are rebuilt and rains are checked from
// their seeds, also those of years ago. A change that needs other values needs a new label ("… v2").

// goldenSeed is the bytes 0 to 31.
func goldenSeed() (seed rain.Seed) {
	for i := range seed {
		seed[i] = byte(i)
	}
	return seed
}

func TestGoldenSplits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		spec rain.Spec
		want []rain.Money
	}{
		{"double mean", spec(rain.DoubleMean, 1_000, 10, 1, nil),
			[]rain.Money{7, 128, 33, 126, 142, 148, 220, 32, 78, 86}},
		{"double mean within bounds", spec(rain.DoubleMean, 1_000, 10, 50, new(rain.Money(150))),
			[]rain.Money{55, 113, 66, 115, 121, 122, 136, 80, 98, 94}},
		{"low variance", spec(rain.LowVariance, 1_000, 10, 1, nil),
			[]rain.Money{90, 103, 93, 103, 104, 105, 113, 93, 97, 99}},
		{"low variance within bounds", spec(rain.LowVariance, 1_000, 10, 95, new(rain.Money(104))),
			[]rain.Money{96, 101, 97, 101, 102, 102, 103, 98, 100, 100}},
		{"gaussian", spec(rain.Gaussian, 1_000, 10, 1, nil), []rain.Money{137, 124, 71, 91, 122, 93, 80, 80, 100, 102}},
		{"gaussian within bounds", spec(rain.Gaussian, 1_003, 10, 50, new(rain.Money(150))),
			[]rain.Money{119, 112, 86, 96, 111, 97, 90, 90, 100, 102}},
		{"even", spec(rain.Even, 1_003, 10, 1, nil), []rain.Money{100, 100, 100, 100, 100, 101, 100, 100, 101, 101}},
		{"list", func() rain.Spec {
			s := spec(rain.List, 36, 8, 1, nil)
			s.Amounts = []rain.Money{1, 2, 3, 4, 5, 6, 7, 8}
			return s
		}(), []rain.Money{5, 4, 7, 1, 8, 6, 2, 3}},
	} {
		testenv.Got(tc.spec.Cut(goldenSeed())).Want(t, tc.want, "%s", tc.name)
	}
}

// TestGoldenLargeSplit goes on long enough to meet every path of the generator, in splits of one block, of two and of
// many.
func TestGoldenLargeSplit(t *testing.T) {
	t.Parallel()
	list := spec(rain.List, 12_502_500, 5_000, 1, nil)
	for i := range list.Packets {
		list.Amounts = append(list.Amounts, rain.Money(i+1))
	}
	for _, tc := range []struct {
		spec rain.Spec
		want string
	}{
		{spec(rain.DoubleMean, 1_000_000, 4096, 1, nil),
			"e4e6ad1d595b3431287362f7753067cb60c191907cf6e412b365b4cc0d5b1db6"},
		{spec(rain.DoubleMean, 1_000_000, 4097, 1, nil),
			"05f004bc453685a7b4f1335c0d289d8265d142cf675e6100a57e99cc6c754c2c"},
		{spec(rain.Even, 1_000_003, 10_007, 1, nil),
			"6670b6629121553fc011b68910b3290e98bc5a70466f79fc2e3d4c187db0ff55"},
		{list, "6f80ada50bb74e3896a925e86d5168359bb8a72c1c5d1bf4252879335d4ccc61"},
		{spec(rain.DoubleMean, 100_000_000, 100_000, 1, nil),
			"0ae4109b6fcb847c9d3ea53faee041c3dd4aff6bdcfecf74e9c7b486e61d3745"},
		{
			spec(rain.LowVariance, 10_000_000_000_007, 100_000, 1, new(rain.Money(1_000_000_000))),
			"3fb29a66f14308936e1a8cd6f54c6420ffacbe3a5ac2ec64bb776360f7ae143e",
		},
		{spec(rain.Gaussian, 100_000_007, 100_000, 1, nil),
			"248470a9bfab60508acf002fdc078e7f7254ec0a38d6bc7aff0670f80bf58001"},
	} {
		amounts := testenv.Got(tc.spec.Cut(goldenSeed())).Must(t)
		h := sha256.New()
		for _, a := range amounts {
			var b [8]byte
			binary.BigEndian.PutUint64(b[:], uint64(a))
			h.Write(b[:])
		}
		testenv.Equal(t, hex.EncodeToString(h.Sum(nil)), tc.want,
			"%s of %d: the SHA-256 of the amounts", tc.spec.Split, tc.spec.Packets)
	}
}

func TestGoldenRain(t *testing.T) {
	t.Parallel()
	r := testRain()
	r.Seed, r.DropsPerSecond, r.FirstWave = goldenSeed(), 6, 41
	for n, want := range map[int64]string{
		41: "[{0 377 0 3347}]",
		42: "[{0 17 0 3059} {1 693 0 3058}]",
		80: "[{0 305 1 3380} {1 873 0 3676}]",
	} {
		testenv.Equal(t, fmt.Sprint(r.Wave(n).Drops), want, "wave %d is", n)
	}
	const digest = "96311287af16564c0d8288e7f3dd5a345fcf6f578549a71cbe6efb7017e0f4b5"
	if got := r.Digest(); got != digest || r.Drops() != 60 {
		t.Errorf("%d drops with the digest %s, want 60 with %s", r.Drops(), got, digest)
	}
	const commitment = "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"
	testenv.Equal(t, r.Seed.Commitment(), commitment, "the commitment is")
}

// TestGoldenHomeShards: a player who moved to another shard in mid-campaign could win twice.
func TestGoldenHomeShards(t *testing.T) {
	t.Parallel()
	for user, want := range map[string][2]int{
		"u1": {0, 244}, "guest-7f3a": {2, 59}, "张三": {1, 30}, "42:42": {0, 140},
	} {
		testenv.Equal(t, [2]int{rain.HomeShard(user, 3), rain.HomeShard(user, 256)}, want,
			"%s is at home of 3 and 256 shards", user)
	}
}

func FuzzCut(f *testing.F) {
	f.Add(int64(1_000), 10, int64(1), int64(0), uint8(0), []byte("seed"))
	f.Add(int64(1_009), 10, int64(1), int64(101), uint8(0), []byte{})
	f.Add(int64(rain.MaxBudget), 1_000, int64(1), int64(1<<62), uint8(0), []byte{1})
	f.Add(int64(rain.MaxBudget), rain.MaxPackets+1, int64(rain.MaxBudget), int64(-1), uint8(1), []byte{2})
	f.Add(int64(3), 2, int64(1), int64(2), uint8(2), []byte{0, 1})
	f.Add(int64(1_001), 3, int64(1), int64(400), uint8(4), []byte{3})
	f.Add(int64(rain.MaxBudget)-1, 19_999, int64(7), int64(1<<62), uint8(5), []byte{4})
	f.Add(int64(-1), -1, int64(-1), int64(-1), uint8(3), []byte(nil))
	f.Fuzz(func(t *testing.T, budget int64, packets int, least, most int64, kind uint8, entropy []byte) {
		kinds := []rain.SplitKind{rain.DoubleMean, rain.Even, rain.List, "unknown", rain.LowVariance, rain.Gaussian}
		s := spec(kinds[int(kind)%len(kinds)], rain.Money(budget), packets, rain.Money(least), nil)
		if most != 0 {
			s.Max = new(rain.Money(most))
		}
		if s.Split == rain.List {
			for _, b := range entropy {
				s.Amounts = append(s.Amounts, rain.Money(b))
			}
		}
		var seed rain.Seed
		copy(seed[:], entropy)
		if packets > 20_000 {
			_ = s.Validate() // enough: cutting this many at each run would make the fuzzer slow
			return
		}
		amounts, err := s.Cut(seed)
		var faults rain.Invalid
		switch {
		case err == nil:
			checkCut(t, &s, amounts)
			if again, _ := s.Cut(seed); !slices.Equal(again, amounts) {
				t.Fatal("the same seed gave other amounts")
			}
		case !errors.As(err, &faults) || len(faults) == 0 || amounts != nil:
			t.Fatalf("%v, %v", amounts, err)
		case slices.Contains(drawn, s.Split) && len(infeasible(&s)) == 0:
			t.Fatalf("a feasible spec is refused: %v", err)
		}
	})
}
