package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"redrain/internal/reread"
)

// Role is an operator's job. The API decides the rights of each.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // reads
	RoleOperator Role = "operator" // runs campaigns
	RoleCashier  Role = "cashier"  // moves money in and out
	RoleAdmin    Role = "admin"    // does everything
)

var allRoles = []Role{RoleViewer, RoleOperator, RoleCashier, RoleAdmin}

// ParseRoles reads roles, one or several with commas.
func ParseRoles(text string) ([]Role, error) {
	var roles []Role
	for part := range strings.SplitSeq(text, ",") {
		role := Role(strings.TrimSpace(part))
		if !slices.Contains(allRoles, role) {
			return nil, fmt.Errorf("%q is not a role: give viewer, operator, cashier or admin", part)
		}
		if !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles, nil
}

// Operator is a caller who runs redrain: a person whom the credential names, or a holder of a shared token.
type Operator struct {
	Name  string // "operator" or "viewer" for holders of a shared token
	ID    string // identity of the credential's owner; two of one ID are the same person with any names
	Roles []Role
	// Shared means that the token is not personal: a holder of the operators' token may do everything alone, and
	// cannot be identified.
	Shared bool
}

// ErrNoOperator is returned for a token that is not an operator's.
var ErrNoOperator = errors.New("this is not an operator's token")

// OperatorSource finds operators by their bearer tokens.
type OperatorSource interface {
	// Operator returns the owner of a token. It returns ErrNoOperator if this source does not have the token, and
	// another error if it cannot decide for now.
	Operator(ctx context.Context, bearer string) (Operator, error)
}

// Operators checks operators' tokens: two that are shared, and those of other sources.
type Operators struct {
	operator, viewer func() string // "": no such token
	sources          []OperatorSource
}

// The names of holders of a shared token. No person can have them.
const (
	sharedOperator = "operator"
	sharedViewer   = "viewer"
)

// NewOperators takes functions that return the two shared tokens, and the other sources. An empty token matches no
// caller.
func NewOperators(operatorToken, viewerToken func() string, sources ...OperatorSource) *Operators {
	return &Operators{operator: operatorToken, viewer: viewerToken, sources: sources}
}

// Operator returns the owner of a token. The shared ones take the same time for every token, so that a stranger
// cannot guess one piece by piece.
func (o *Operators) Operator(ctx context.Context, bearer string) (Operator, error) {
	got := sha256.Sum256([]byte(bearer))
	operator, viewer := sha256.Sum256([]byte(o.operator())), sha256.Sum256([]byte(o.viewer()))
	isOperator, isViewer := same(&operator, &got), same(&viewer, &got)
	switch {
	case bearer == "":
		return Operator{}, ErrNoOperator
	case isOperator:
		return Operator{Name: sharedOperator, Roles: []Role{RoleOperator}, Shared: true}, nil
	case isViewer:
		return Operator{Name: sharedViewer, Roles: []Role{RoleViewer}, Shared: true}, nil
	}
	refused := ErrNoOperator
	for _, source := range o.sources {
		who, err := source.Operator(ctx, bearer)
		if !errors.Is(err, ErrNoOperator) {
			return who, err
		}
		refused = err
	}
	return Operator{}, refused
}

// same compares digests, not tokens, because comparing in constant time needs equal lengths.
func same(want, got *[sha256.Size]byte) bool {
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// Bearer returns the bearer token of the request's Authorization header, or "" without one.
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// OperatorsFile holds the operators that a file names. It is read again when it changes, so that a removed operator
// is refused within seconds.
type OperatorsFile struct{ files *reread.Files[[]namedToken] }

// namedToken is a token of a person.
type namedToken struct {
	hash [sha256.Size]byte
	who  Operator
}

// maxOperatorName is the length of an operator's name, in bytes.
const maxOperatorName = 60

// NewOperatorsFile reads the file. The error describes its fault, and repeats no hash.
func NewOperatorsFile(path string, log *slog.Logger) (*OperatorsFile, error) {
	files, err := reread.New("the operators", log, func() ([]namedToken, error) { return readOperators(path) }, path)
	if err != nil {
		return nil, err
	}
	return &OperatorsFile{files}, nil
}

// Operator returns the owner of a token. It compares with all of them, in a time that is the same for every token.
func (f *OperatorsFile) Operator(_ context.Context, bearer string) (Operator, error) {
	got := sha256.Sum256([]byte(bearer))
	who, err := Operator{}, ErrNoOperator
	for _, one := range f.files.Newest() {
		if same(&one.hash, &got) {
			who, err = one.who, nil
		}
	}
	return who, err
}

func readOperators(path string) ([]namedToken, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the operator chooses the path
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Name   string `yaml:"name"`
		Role   string `yaml:"role"`
		SHA256 string `yaml:"sha256"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(data)))
	d.KnownFields(true)
	if err := d.Decode(&rows); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New("want a list of operators with name, role and sha256 each")
	}
	list := make([]namedToken, 0, len(rows))
	for n, row := range rows {
		one, err := newNamedToken(row.Name, row.Role, row.SHA256)
		if err != nil {
			return nil, fmt.Errorf("operator %d: %w", n+1, err)
		}
		for _, other := range list {
			switch {
			case other.hash == one.hash:
				return nil, fmt.Errorf("operator %d: %s has the same token as %s", n+1, one.who.Name, other.who.Name)
			case other.who.Name != one.who.Name && strings.EqualFold(other.who.Name, one.who.Name):
				return nil, fmt.Errorf("operator %d: %s and %s differ only in capitals", n+1, one.who.Name,
					other.who.Name)
			}
		}
		list = append(list, one)
	}
	return list, nil
}

func newNamedToken(name, role, hash string) (one namedToken, err error) {
	if err := CheckOperatorName(name); err != nil {
		return one, err
	}
	if one.who.Roles, err = ParseRoles(role); err != nil {
		return one, fmt.Errorf("%s: role: %w", name, err)
	}
	sum, err := hex.DecodeString(hash)
	if err != nil || len(sum) != sha256.Size {
		return one, fmt.Errorf("%s: sha256: give the 64 hex digits that redrain operator token prints", name)
	}
	one.hash = [sha256.Size]byte(sum)
	one.who.Name, one.who.ID = name, "token:"+name
	return one, nil
}

// CheckOperatorName returns an error unless a person can have the name.
func CheckOperatorName(name string) error {
	switch {
	case name == "" || len(name) > maxOperatorName || !utf8.ValidString(name) || strings.TrimSpace(name) != name ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("name: give 1 to %d bytes that can be printed, without spaces around", maxOperatorName)
	case strings.EqualFold(name, sharedOperator) || strings.EqualFold(name, sharedViewer):
		return fmt.Errorf("name: %q is the name of a shared token; give a person's", name)
	}
	return nil
}

// NewOperatorToken returns an unpredictable token, and its hash for the file.
func NewOperatorToken() (token, hash string) {
	token = "redrain_" + rand.Text()
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}
