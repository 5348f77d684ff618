#pragma once

#include "chat/ast.hpp"

namespace ml::chat {

/// Notes in a template's tree which names each block with variables of its own hides until it sets them.
///
/// The reference's compiler settles before it runs where a name is found. What such a block always sets, and
/// neither reads before nor finds read or set in a block around it, is the block's own from its start: a for,
/// macro or set block inside that reads it too early sees nothing, even where the caller gave such a
/// variable.
void find_hidden_names(Template& whole);

}  // namespace ml::chat
