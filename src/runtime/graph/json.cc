#include "json.h"

#include <cstdlib>
#include <cstring>

#include "refusal.h"

namespace tvm {
namespace runtime {
namespace graph {

namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxSize = size_t{64} << 20;

class Parser {
 public:
  Parser(const char* data, size_t size) : data_(data), size_(size) {}

  Json Document() {
    Json value = Value(0);
    Space();
    if (at_ != size_) Wrong("the end of the text");
    return value;
  }

 private:
  [[noreturn]] void Wrong(const char* expected) {
    std::string found = "the end";
    if (at_ < size_) {
      auto c = static_cast<unsigned char>(data_[at_]);
      found = c >= 32 && c < 127 ? std::string("'") + static_cast<char>(c) + "'"
                                 : "byte " + std::to_string(c);
    }
    Refuse("graph JSON: at byte " + std::to_string(at_) + ": expected " + expected +
           ", but found " + found);
  }

  void Space() {
    while (at_ < size_ &&
           (data_[at_] == ' ' || data_[at_] == '\n' || data_[at_] == '\r' || data_[at_] == '\t')) {
      ++at_;
    }
  }

  bool Take(char c) {
    Space();
    if (at_ >= size_ || data_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool Word(const char* word) {
    size_t n = strlen(word);
    if (size_ - at_ < n || memcmp(data_ + at_, word, n) != 0) return false;
    at_ += n;
    return true;
  }

  Json Value(int depth) {
    if (depth > kMaxDepth) Wrong("less than 64 nested lists and maps");
    Space();
    Json v;
    if (at_ >= size_) Wrong("a value");
    char c = data_[at_];
    if (c == '{') {
      Map(&v, depth);
    } else if (c == '[') {
      List(&v, depth);
    } else if (c == '"') {
      v.kind = Json::kText;
      v.text = Text();
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      Number(&v);
    } else if (Word("true")) {
      v.kind = Json::kBool;
      v.number = 1;
    } else if (Word("false")) {
      v.kind = Json::kBool;
    } else if (!Word("null")) {
      Wrong("a value");
    }
    return v;
  }

  void List(Json* v, int depth) {
    v->kind = Json::kList;
    ++at_;
    if (Take(']')) return;
    do {
      v->items.push_back(Value(depth + 1));
    } while (Take(','));
    if (!Take(']')) Wrong("',' or ']'");
  }

  void Map(Json* v, int depth) {
    v->kind = Json::kMap;
    ++at_;
    if (Take('}')) return;
    do {
      Space();
      if (at_ >= size_ || data_[at_] != '"') Wrong("a name in quotes");
      v->names.push_back(Text());
      if (!Take(':')) Wrong("':'");
      v->items.push_back(Value(depth + 1));
    } while (Take(','));
    if (!Take('}')) Wrong("',' or '}'");
  }

  unsigned Hex() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      char c = at_ < size_ ? data_[at_] : 0;
      unsigned digit = 0;
      if (c >= '0' && c <= '9') {
        digit = static_cast<unsigned>(c - '0');
      } else if ((c | 32) >= 'a' && (c | 32) <= 'f') {
        digit = static_cast<unsigned>((c | 32) - 'a' + 10);
      } else {
        Wrong("four hexadecimal digits");
      }
      code = code * 16 + digit;
    }
    return code;
  }

  static void Utf8(std::string* out, unsigned c) {
    auto put = [out](unsigned byte) { out->push_back(static_cast<char>(byte)); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
      put(0xC0 | c >> 6);
    } else {
      if (c < 0x10000) {
        put(0xE0 | c >> 12);
      } else {
        put(0xF0 | c >> 18);
        put(0x80 | (c >> 12 & 63));
      }
      put(0x80 | (c >> 6 & 63));
    }
    put(0x80 | (c & 63));
  }

  std::string Text() {
    std::string out;
    for (++at_; at_ < size_ && data_[at_] != '"';) {
      if (static_cast<unsigned char>(data_[at_]) < 32) Wrong("no control character in a string");
      if (data_[at_] != '\\') {
        out.push_back(data_[at_++]);
        continue;
      }
      ++at_;
      const char* plain = "\"\"\\\\//b\bf\fn\nr\rt\t";
      char c = at_ < size_ ? data_[at_] : 0;
      if (c == 'u') {
        ++at_;
        unsigned code = Hex();
        if (code >= 0xDC00 && code < 0xE000) Wrong("the first half of a pair");
        if (code >= 0xD800 && code < 0xDC00) {
          if (!Word("\\u")) Wrong("the second half of a pair");
          unsigned low = Hex();
          if (low < 0xDC00 || low >= 0xE000) Wrong("the second half of a pair");
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        // Names become C strings, which this would cut off.
        if (code == 0) Wrong("no character 0 in a string");
        Utf8(&out, code);
        continue;
      }
      while (*plain != 0 && *plain != c) plain += 2;
      if (c == 0 || *plain == 0) Wrong("an escape such as \\n");
      out.push_back(plain[1]);
      ++at_;
    }
    if (at_ >= size_) Wrong("'\"'");
    ++at_;
    return out;
  }

  bool Digits() {
    size_t first = at_;
    while (at_ < size_ && data_[at_] >= '0' && data_[at_] <= '9') ++at_;
    return at_ > first;
  }

  void Number(Json* v) {
    size_t first = at_;
    bool negative = data_[at_] == '-';
    if (negative) ++at_;
    size_t digits = at_;
    if (!Digits()) Wrong("a digit");
    size_t end = at_;
    bool whole = true;
    if (at_ < size_ && data_[at_] == '.') {
      ++at_;
      whole = false;
      if (!Digits()) Wrong("a digit");
    }
    if (at_ < size_ && (data_[at_] | 32) == 'e') {
      ++at_;
      whole = false;
      if (at_ < size_ && (data_[at_] == '+' || data_[at_] == '-')) ++at_;
      if (!Digits()) Wrong("a digit");
    }
    if (!whole) {
      v->kind = Json::kReal;
      v->real = strtod(std::string(data_ + first, at_ - first).c_str(), nullptr);
      return;
    }
    v->kind = Json::kInt;
    for (size_t i = digits; i < end; ++i) {
      int64_t digit = data_[i] - '0';
      if (__builtin_mul_overflow(v->number, int64_t{10}, &v->number) ||
          __builtin_add_overflow(v->number, digit, &v->number)) {
        at_ = first;
        Wrong("a number of at most 63 bits");
      }
    }
    if (negative) v->number = -v->number;
  }

  const char* data_;
  size_t size_;
  size_t at_ = 0;
};

}  // namespace

const Json* Json::Find(const char* name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return &items[i];
  }
  return nullptr;
}

Json ParseJson(const char* data, size_t size) {
  if (size > kMaxSize) {
    Refuse("graph JSON: the text has " + std::to_string(size) + " bytes; at most " +
           std::to_string(kMaxSize) + " are read");
  }
  return Parser(data, size).Document();
}

}  // namespace graph
}  // namespace runtime
}  // namespace tvm
